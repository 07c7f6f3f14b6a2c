input.hlo --scheduler=input --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=14KiB --remat-collectives -o - --quiet --json=summary.json
