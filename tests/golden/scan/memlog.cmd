layers.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=min --set=scan.segment-gain=10 --quiet --dump-memlog=-
