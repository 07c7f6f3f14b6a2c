input.hlo --scheduler=input --algorithm=peak-priority --memory-model=xla-remat --small-node-limit=0 --mem-limit=0 -o - --quiet --json=summary.json
