input.hlo --algorithm=peak-priority --memory-model=xla-remat --copies=inserted --small-node-limit=0 --mem-limit=min -o - --quiet --json=summary.json
