input.hlo --apply-plan=named.json -q -o -
