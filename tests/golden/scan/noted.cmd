noted.hlo --small-node-limit=0 --algorithm=scan --mem-limit=130KiB --quiet -o -
