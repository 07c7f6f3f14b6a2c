input.hlo --small-node-limit=0 --mem-limit=min
