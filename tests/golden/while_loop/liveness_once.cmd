input.hlo --scheduler=input --algorithm=none --memory-model=liveness-once --dump-memlog=- --copies=pending --quiet --json=summary.json
