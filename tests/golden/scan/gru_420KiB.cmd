gru.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=420KiB --quiet --json=s.json
