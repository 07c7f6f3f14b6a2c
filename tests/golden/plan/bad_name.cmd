input.hlo --apply-plan=bad_name.json -q -o -
