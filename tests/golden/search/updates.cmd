updates.hlo --algorithm=search --memory-model=liveness --small-node-limit=0 --mem-limit=min --quiet -o - --json=summary.json
