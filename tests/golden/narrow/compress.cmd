input.hlo --scheduler=input --algorithm=standard --remat-mode=compress --memory-model=xla-remat --small-node-limit=0 --mem-limit=min --quiet --json=-
