input.hlo --apply-plan=action.json -q -o -
