input.hlo --apply-plan=not_a_plan.json -q -o -
