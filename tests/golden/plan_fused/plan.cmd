input.hlo --apply-plan=plan.json -q --save-plan=- -o result.hlo
