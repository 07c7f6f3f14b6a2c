control.hlo --apply-plan=control.json -q --save-plan=- -o result.hlo
