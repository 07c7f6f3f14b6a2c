input.hlo --apply-plan=unknown_key.json -q -o -
