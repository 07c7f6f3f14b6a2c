input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=min -o - --copies=pending --quiet --json=summary.json
