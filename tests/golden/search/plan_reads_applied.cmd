tuples.hlo --apply-plan=reads.json --quiet -o -
