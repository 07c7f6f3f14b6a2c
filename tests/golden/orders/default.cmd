input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat -o - --quiet --json=summary.json
