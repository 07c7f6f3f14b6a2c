scheduled.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --inline-calls=always -o - --quiet --json=summary.json
