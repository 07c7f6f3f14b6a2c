input.hlo --scheduler=input --algorithm=peak-priority --remat-mode=recompute,narrow --memory-model=xla-remat --small-node-limit=0 --mem-limit=r50% -o - --quiet --json=summary.json
