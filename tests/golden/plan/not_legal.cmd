input.hlo --apply-plan=not_legal.json -q -o -
