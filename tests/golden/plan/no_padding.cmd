input.hlo --apply-plan=no_padding.json -q -o -
