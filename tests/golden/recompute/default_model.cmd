input.hlo --small-node-limit=0 --mem-limit=80% --ignore-schedule --json=- --quiet
