input.hlo --scheduler=default --algorithm=path --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --mem-limit=90% --emit=unscheduled -o - --quiet --json=summary.json
