input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=4KiB --mem-limit=14KiB --quiet --json=-
