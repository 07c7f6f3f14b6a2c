shared_start.hlo --small-node-limit=0 --algorithm=scan --mem-limit=120KiB --quiet -o -
