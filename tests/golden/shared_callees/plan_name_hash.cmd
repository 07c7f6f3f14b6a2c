input.hlo --apply-plan=plan_name_hash.json -q -o - --copies=pending
