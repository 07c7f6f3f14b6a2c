input.hlo --apply-plan=reordered.json -q -o -
