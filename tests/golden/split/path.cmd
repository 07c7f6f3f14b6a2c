input.hlo --mem-limit=min --small-node-limit=0 --algorithm=path --quiet -o - --json=summary.json
