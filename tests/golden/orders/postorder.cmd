input.hlo --scheduler=postorder --algorithm=none --memory-model=xla-remat -o - --quiet --json=summary.json
