input.hlo --scheduler=list --algorithm=none --memory-model=liveness --quiet --dump-memlog=-
