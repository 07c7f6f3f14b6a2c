input.hlo --apply-plan=plan_no_callers.json -q -o - --copies=pending
