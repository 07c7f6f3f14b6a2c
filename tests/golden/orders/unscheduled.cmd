input.hlo --scheduler=bfs --algorithm=none --memory-model=xla-remat --emit=unscheduled -o - --quiet --json=summary.json
