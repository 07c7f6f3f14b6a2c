unmarked.hlo --small-node-limit=0 --mem-limit=min --json=summary.json -o -
