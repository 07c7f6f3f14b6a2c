input.hlo --scheduler=bfs --algorithm=none --memory-model=liveness --quiet --dump-memlog=-
