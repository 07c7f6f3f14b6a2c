input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --quiet --json=-
