input.hlo --apply-plan=no_element.json -q -o -
