input.hlo --apply-plan=plan_same.json -q -o - --copies=pending
