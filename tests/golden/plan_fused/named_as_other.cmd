input.hlo --apply-plan=named_as_other.json -q -o -
