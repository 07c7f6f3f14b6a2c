ring.hlo --small-node-limit=0 --algorithm=scan --mem-limit=100KiB --remat-collectives --quiet -o -
