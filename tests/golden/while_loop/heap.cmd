input.hlo --scheduler=input --algorithm=none --memory-model=heap --dump-memlog=- --copies=pending --quiet --json=summary.json
