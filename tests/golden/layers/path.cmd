input.hlo --scheduler=postorder --algorithm=path --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --mem-limit=90% -o - --quiet --json=summary.json
