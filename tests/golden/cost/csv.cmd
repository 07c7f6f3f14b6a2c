cost input.hlo --csv=- -q
