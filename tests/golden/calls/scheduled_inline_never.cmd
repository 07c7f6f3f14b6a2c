scheduled.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --inline-calls=never -o - --quiet --json=summary.json
