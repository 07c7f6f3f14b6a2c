report input.hlo after.hlo --memory-model=liveness --json=difference.json --copies=pending
