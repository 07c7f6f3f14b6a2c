input.hlo --apply-plan=comma.json -q -o -
