input.hlo --apply-plan=plan_called_before.json -q -o - --copies=pending
