input.hlo --apply-plan=name_taken.json -q -o -
