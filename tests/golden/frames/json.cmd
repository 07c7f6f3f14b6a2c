report input.hlo --memory-model=liveness --quiet --json=-
