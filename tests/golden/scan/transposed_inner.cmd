transposed_inner.hlo --small-node-limit=0 --algorithm=scan --mem-limit=2MiB --quiet -o -
