random.hlo --apply-plan=bad_unrolled.json --quiet -o - --copies=pending
