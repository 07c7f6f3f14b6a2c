input.hlo --apply-plan=no_instruction.json -q -o -
