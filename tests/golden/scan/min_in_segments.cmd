by_two.hlo --small-node-limit=0 --algorithm=scan --mem-limit=min --quiet --json=summary.json
