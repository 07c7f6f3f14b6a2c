effects.hlo --apply-plan=effects.json -o out.hlo
