input.hlo --apply-plan=no_computation.json -q -o -
