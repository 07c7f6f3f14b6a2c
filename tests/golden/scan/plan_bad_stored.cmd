gru.hlo --apply-plan=bad_stored.json --quiet -o - --copies=pending
