diamond.hlo --algorithm=optimal --memory-model=liveness --mem-limit=90% --quiet -o - --json=summary.json
