input.hlo --scheduler=input --small-node-limit=0 --mem-limit=21KiB --limit-counts=temp -o - --algorithm=path --memory-model=xla-remat --copies=pending --quiet --json=summary.json
