input.hlo --apply-plan=no_user.json -q -o -
