input.hlo --scheduler=dfs --algorithm=none --memory-model=liveness --quiet --dump-memlog=-
