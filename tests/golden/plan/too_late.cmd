input.hlo --apply-plan=too_late.json -q -o -
