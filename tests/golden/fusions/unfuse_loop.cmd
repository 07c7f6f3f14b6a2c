input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --unfuse=loop -o - --quiet --json=summary.json
