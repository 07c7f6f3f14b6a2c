input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --mem-limit=14KiB --quiet --json=-
