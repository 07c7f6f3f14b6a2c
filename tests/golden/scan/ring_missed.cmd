ring.hlo --small-node-limit=0 --mem-limit=100KiB
