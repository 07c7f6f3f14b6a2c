input.hlo --scheduler=input --algorithm=path --memory-model=liveness --small-node-limit=0 --mem-limit=min --json=- --quiet
