input.hlo --scheduler=input --algorithm=peak-priority --remat-mode=narrow --memory-model=xla-remat --small-node-limit=0 --mem-limit=r50% --save-plan=- --quiet --json=summary.json
