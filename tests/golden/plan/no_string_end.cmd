input.hlo --apply-plan=no_string_end.json -q -o -
