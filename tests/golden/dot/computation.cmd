input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --dump-dot=graphs --quiet --dot-filter=computation:turn
