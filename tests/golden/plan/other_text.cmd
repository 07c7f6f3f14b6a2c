input.hlo --apply-plan=other_text.json -q -o -
