gru.hlo --copies=pending --small-node-limit=0 --algorithm=checkpoint=speed --mem-limit=480KiB --quiet --json=s.json
