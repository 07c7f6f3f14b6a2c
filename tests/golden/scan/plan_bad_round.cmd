gru.hlo --apply-plan=bad_round.json --quiet -o - --copies=pending
