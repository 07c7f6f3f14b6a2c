report range.hlo --device=tpu7x --quiet --json=-
