input.hlo --scheduler=bfs --algorithm=none --memory-model=xla-remat --ignore-schedule -o - --quiet --json=summary.json
