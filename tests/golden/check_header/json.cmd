check input.hlo --diagnostics=json --max-errors=2 --quiet
