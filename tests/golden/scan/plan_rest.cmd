rest.hlo --apply-plan=saved_rest.json --quiet --json=s.json --copies=pending
