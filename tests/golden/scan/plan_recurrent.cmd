recurrent.hlo --apply-plan=recurrent.json --quiet -o -
