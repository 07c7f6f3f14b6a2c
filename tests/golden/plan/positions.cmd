input.hlo --apply-plan=positions.json -q -o -
