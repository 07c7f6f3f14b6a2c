input.hlo --apply-plan=plan_name_taken.json -q -o - --copies=pending
