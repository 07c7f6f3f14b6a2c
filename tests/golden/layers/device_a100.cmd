input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --device=a100-40g --quiet --json=-
