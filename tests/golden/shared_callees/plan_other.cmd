input.hlo --apply-plan=plan_other.json -q -o - --copies=pending
