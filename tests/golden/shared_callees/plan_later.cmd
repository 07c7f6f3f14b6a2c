input.hlo --apply-plan=plan_later.json -q -o - --copies=pending
