input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=2440 -o - --copies=pending --quiet --json=summary.json
