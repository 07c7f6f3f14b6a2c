input.hlo --apply-plan=plan_clones.json -q -o - --copies=pending
