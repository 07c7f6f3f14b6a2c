cost input.hlo --json=- -q
