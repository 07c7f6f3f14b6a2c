input.hlo --apply-plan=plan_no_caller.json -q -o - --copies=pending
