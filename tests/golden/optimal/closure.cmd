chain.hlo --algorithm=optimal --memory-model=liveness --mem-limit=60% --quiet -o - --json=summary.json
