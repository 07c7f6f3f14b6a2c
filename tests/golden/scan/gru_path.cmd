gru.hlo --copies=pending --small-node-limit=0 --algorithm=path --mem-limit=420KiB --quiet --json=s.json
