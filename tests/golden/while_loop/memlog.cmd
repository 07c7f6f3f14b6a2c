input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --dump-memlog=mem.csv --quiet --copies=pending
