vector_bitcast.hlo --small-node-limit=0 --algorithm=scan --mem-limit=min --quiet -o -
