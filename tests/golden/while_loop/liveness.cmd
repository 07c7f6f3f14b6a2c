input.hlo --scheduler=input --algorithm=none --memory-model=liveness --dump-memlog=- --copies=pending --quiet --json=summary.json
