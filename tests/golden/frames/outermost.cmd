report input.hlo --memory-model=liveness --frames=outermost
