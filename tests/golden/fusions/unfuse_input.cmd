input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --unfuse=input -o - --quiet --json=summary.json
