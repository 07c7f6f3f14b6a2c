stacked.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=70% --quiet --json=s.json
