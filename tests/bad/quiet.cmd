two_roots.hlo --scheduler=auto --algorithm=none --memory-model=xla-remat --quiet
