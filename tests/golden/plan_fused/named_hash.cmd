input.hlo --apply-plan=named_hash.json -q -o -
