input.hlo --scheduler=default --algorithm=none --memory-model=liveness --quiet --dump-memlog=-
