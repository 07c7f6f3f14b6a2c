input.hlo --scheduler=input --algorithm=checkpoint=collection:^neg --memory-model=xla-remat --small-node-limit=0 --mem-limit=13000 -o - --quiet --json=summary.json
