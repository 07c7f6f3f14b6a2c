recurrent.hlo --small-node-limit=0 --algorithm=scan --mem-limit=250KiB --quiet -o -
