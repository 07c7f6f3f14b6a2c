cones.hlo --apply-plan=moves.json --quiet -o -
