gru.hlo --apply-plan=saved.json --quiet --json=s.json --copies=pending
