report input.hlo --memory-model=liveness-once --top=3 --json=- --copies=pending
