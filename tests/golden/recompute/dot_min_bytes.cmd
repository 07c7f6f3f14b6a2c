input.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=14KiB --dump-dot=graphs --dot-min-bytes=4KiB --quiet
