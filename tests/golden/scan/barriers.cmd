barriers.hlo --target=gpu --small-node-limit=0 --mem-limit=min --quiet --json=s.json
