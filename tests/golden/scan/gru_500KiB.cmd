gru.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=500KiB --quiet --json=s.json
