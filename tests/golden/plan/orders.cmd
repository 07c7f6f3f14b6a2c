input.hlo --apply-plan=orders.json -q -o -
