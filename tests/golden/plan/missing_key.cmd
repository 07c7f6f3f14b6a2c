input.hlo --apply-plan=missing_key.json -q -o -
