gru.hlo --apply-plan=bad_value.json --quiet -o - --copies=pending
