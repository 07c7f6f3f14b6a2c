input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --inline-calls=never -o - --quiet --json=summary.json
