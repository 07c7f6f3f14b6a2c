input.hlo --scheduler=default --algorithm=none --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --quiet --json=-
