stacked_transposed.hlo --fuse --emit=unscheduled --copies=pending --algorithm=scan --mem-limit=80% --small-node-limit=0 --quiet -o -
