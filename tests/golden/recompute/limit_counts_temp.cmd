input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=12292 --limit-counts=temp --quiet --json=-
