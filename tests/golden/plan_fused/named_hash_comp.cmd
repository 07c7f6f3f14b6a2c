input.hlo --apply-plan=named_hash_comp.json -q -o -
