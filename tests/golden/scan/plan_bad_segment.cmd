gru.hlo --apply-plan=bad_segment.json --quiet -o - --copies=pending
