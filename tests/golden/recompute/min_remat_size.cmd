input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --min-remat-size=14KiB --mem-limit=14KiB --quiet --json=-
