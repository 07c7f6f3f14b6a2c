report input.hlo --memory-model=xla-remat --copies=pending
