input.hlo --scheduler=list --algorithm=none --memory-model=xla-remat --ignore-schedule -o - --quiet --json=summary.json
