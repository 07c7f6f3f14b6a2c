input.hlo --scheduler=list --algorithm=path --memory-model=liveness --device=./toy.json --small-node-limit=0 --mem-limit=95% --quiet --json=-
