input.hlo --apply-plan=edited.json -q -o -
