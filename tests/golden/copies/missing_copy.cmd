report counts.hlo --json=summary.json --quiet
