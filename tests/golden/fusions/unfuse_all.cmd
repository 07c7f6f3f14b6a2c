input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --unfuse=all -o - --quiet --json=summary.json
