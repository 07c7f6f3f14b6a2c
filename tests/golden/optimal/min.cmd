chain.hlo --algorithm=optimal --memory-model=liveness --mem-limit=min --quiet -o - --json=summary.json
