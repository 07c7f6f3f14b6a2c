input.hlo --scheduler=dfs --algorithm=none --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --quiet --json=-
