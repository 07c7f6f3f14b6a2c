input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=14KiB --dump-dot=graphs --dot-filter=all --dot-min-bytes=4KiB --quiet
