input.hlo --apply-plan=plan_skip.json -q -o - --copies=pending
