cost input.hlo --trip-count=3 --top=2 --device=cpu
