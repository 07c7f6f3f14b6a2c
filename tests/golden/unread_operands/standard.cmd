input.hlo --algorithm=standard --memory-model=liveness --small-node-limit=0 --mem-limit=min -o - --quiet --json=summary.json
