input.hlo --apply-plan=too_early.json -q -o -
