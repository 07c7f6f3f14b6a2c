input.hlo --scheduler=input --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=80.1% -o - --quiet --json=summary.json
