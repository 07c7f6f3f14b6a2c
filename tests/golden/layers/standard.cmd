input.hlo --scheduler=default --algorithm=standard --memory-model=xla-remat --device=./toy.json --small-node-limit=0 --mem-limit=90% -o - --json=s.json --quiet
