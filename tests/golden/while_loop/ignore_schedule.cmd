input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --ignore-schedule -o - --copies=pending --quiet --json=summary.json
