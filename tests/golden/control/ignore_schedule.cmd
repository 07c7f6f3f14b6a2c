input.hlo --scheduler=dfs --algorithm=none --memory-model=xla-remat --ignore-schedule -o - --quiet --json=summary.json
