chain.hlo --algorithm=optimal --memory-model=liveness --mem-limit=80% --quiet -o - --json=summary.json
