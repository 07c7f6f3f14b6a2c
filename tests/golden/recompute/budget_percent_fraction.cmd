input.hlo --scheduler=input --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=77.5% --quiet --json=-
