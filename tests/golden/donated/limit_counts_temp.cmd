input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=r100% --limit-counts=temp --quiet --json=-
