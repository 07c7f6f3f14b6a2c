scheduled.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --inline-calls=auto -o - --quiet --json=summary.json
