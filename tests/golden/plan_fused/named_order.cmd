input.hlo --apply-plan=named_order.json -q -o -
