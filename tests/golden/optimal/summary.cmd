diamond.hlo --algorithm=optimal --memory-model=liveness --mem-limit=80%
