input.hlo --apply-plan=not_read.json -q -o -
