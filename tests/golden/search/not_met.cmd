held.hlo --algorithm=search --memory-model=xla-remat --small-node-limit=0 --mem-limit=35KiB --quiet -o - --json=summary.json
