gru.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=65% --quiet --json=s.json
