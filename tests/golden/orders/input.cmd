input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat -o - --quiet --json=summary.json
