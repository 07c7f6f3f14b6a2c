rest.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=min --set=scan.unroll=10 --quiet --json=s.json
