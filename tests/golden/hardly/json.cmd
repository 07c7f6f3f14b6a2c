input.hlo --mem-limit=50% --json=summary.json --quiet
