input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --unfuse=loop,output -o - --quiet --json=summary.json
