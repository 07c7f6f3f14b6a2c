report input.hlo --memory-model=xla-remat
