loop.hlo --apply-plan=loop.json --quiet -o -
