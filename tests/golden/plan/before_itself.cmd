input.hlo --apply-plan=before_itself.json -q -o -
