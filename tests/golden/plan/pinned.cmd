input.hlo --apply-plan=pinned.json --pin=model/shift -q -o -
