overwritten.hlo --apply-plan=overwritten.json -o out.hlo
