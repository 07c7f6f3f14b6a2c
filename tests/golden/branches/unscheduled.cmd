input.hlo --scheduler=input --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=16016 --emit=unscheduled -o - --quiet --json=summary.json
