gru.hlo --mem-limit=5% --json=missed.json --quiet
