report sharded.hlo --json=summary.json --quiet
