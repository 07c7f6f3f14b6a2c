input.hlo --scheduler=input --small-node-limit=0 --mem-limit=24KiB --limit-counts=temp -o - --algorithm=path --memory-model=xla-remat --clone-callees --copies=pending --quiet --json=summary.json
