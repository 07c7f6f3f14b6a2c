input.hlo --apply-plan=skipped.json -q -o -
