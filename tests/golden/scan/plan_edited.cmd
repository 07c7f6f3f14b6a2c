gru.hlo --apply-plan=edited.json --quiet --json=s.json --copies=pending
