input.hlo --small-node-limit=0 --mem-limit=80% -o - --quiet --json=summary.json
