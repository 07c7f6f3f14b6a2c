control.hlo --apply-plan=control_lost.json -q -o -
