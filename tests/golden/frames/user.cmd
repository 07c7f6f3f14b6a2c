report input.hlo --memory-model=liveness --stack
