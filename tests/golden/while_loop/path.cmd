input.hlo --scheduler=input --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=2040 -o - --copies=pending --quiet --json=summary.json
