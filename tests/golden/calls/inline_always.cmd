input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --inline-calls=always -o - --quiet --json=summary.json
