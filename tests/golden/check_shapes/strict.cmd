check input.hlo --strict --max-errors=3
