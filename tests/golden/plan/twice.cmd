input.hlo --apply-plan=twice.json -q -o -
