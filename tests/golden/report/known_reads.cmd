report input.hlo --memory-model=liveness --top=3 --copies=inserted
