input.hlo --apply-plan=scheduler.json -q -o -
