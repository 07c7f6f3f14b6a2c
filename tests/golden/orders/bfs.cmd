input.hlo --scheduler=bfs --algorithm=none --memory-model=xla-remat -o - --quiet --json=summary.json
