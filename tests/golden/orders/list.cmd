input.hlo --scheduler=list --algorithm=none --memory-model=xla-remat -o - --quiet --json=summary.json
