first.hlo second.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --dump-memlog=logs/ --dump-dot=graphs/ --quiet
