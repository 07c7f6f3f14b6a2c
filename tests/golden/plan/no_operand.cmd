input.hlo --apply-plan=no_operand.json -q -o -
