gru.hlo --apply-plan=bad_idle.json --quiet -o - --copies=pending
