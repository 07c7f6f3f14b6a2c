input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --inline-calls=auto -o - --quiet --json=summary.json
