input.hlo --apply-plan=no_place.json -q -o -
