input.hlo --apply-plan=other_value.json -q -o -
