input.hlo --scheduler=input --algorithm=standard --remat-mode=narrow --memory-model=xla-remat --small-node-limit=0 --mem-limit=min -o - --quiet --json=summary.json
