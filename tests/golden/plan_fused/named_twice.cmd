input.hlo --apply-plan=named_twice.json -q -o -
