input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --unfuse=output -o - --quiet --json=summary.json
