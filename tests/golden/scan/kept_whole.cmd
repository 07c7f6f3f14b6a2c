kept_whole.hlo --copies=inserted --small-node-limit=0 --algorithm=scan --mem-limit=min
