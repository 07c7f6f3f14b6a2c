rows_summed.hlo --small-node-limit=0 --algorithm=scan --mem-limit=min --quiet -o -
