input.hlo --scheduler=input --algorithm=none --memory-model=liveness --quiet --json=-
