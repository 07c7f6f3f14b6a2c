control.hlo --apply-plan=control_skipped.json -q -o -
