input.hlo --apply-plan=other_order.json -q -o -
