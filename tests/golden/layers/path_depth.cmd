input.hlo --scheduler=postorder --algorithm=path --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --path-depth=1 --mem-limit=90% --quiet --json=-
