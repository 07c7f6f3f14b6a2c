input.hlo --memory-model=liveness --quiet --dump-memlog=mem.csv
