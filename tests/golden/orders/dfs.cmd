input.hlo --scheduler=dfs --algorithm=none --memory-model=xla-remat -o - --quiet --json=summary.json
