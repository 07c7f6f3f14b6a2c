input.hlo --apply-plan=plan_entry.json -q -o - --copies=pending
