diamond.hlo --algorithm=optimal --memory-model=liveness --mem-limit=70% --quiet --json=-
