joined.hlo --small-node-limit=0 --algorithm=scan --mem-limit=75% --quiet -o -
