report counts.hlo --copies=inserted --json=summary.json --quiet
