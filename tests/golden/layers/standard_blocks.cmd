input.hlo --scheduler=default --algorithm=standard --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --block-size-limit=4 --mem-limit=min --quiet --json=-
