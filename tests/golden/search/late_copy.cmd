late_copy.hlo --algorithm=search --memory-model=heap --small-node-limit=0 --mem-limit=r50% --quiet -o - --json=summary.json
