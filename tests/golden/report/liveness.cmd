report input.hlo --memory-model=liveness --json=report.json --csv=report.csv --copies=pending
