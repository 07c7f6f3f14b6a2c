transposed.hlo --small-node-limit=0 --algorithm=scan --mem-limit=1500KiB --quiet -o -
