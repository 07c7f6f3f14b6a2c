input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --dump-dot=graphs --dot-filter=all --dot-min-bytes=0 --quiet --copies=pending
