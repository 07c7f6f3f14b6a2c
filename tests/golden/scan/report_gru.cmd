report gru.hlo --copies=pending --quiet --json=report.json
