gru.hlo --apply-plan=bad_loop.json --quiet -o - --copies=pending
