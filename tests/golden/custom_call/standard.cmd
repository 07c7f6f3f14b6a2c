input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=48KiB -o - --quiet --json=summary.json
