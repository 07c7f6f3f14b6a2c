input.hlo --apply-plan=version.json -q -o -
