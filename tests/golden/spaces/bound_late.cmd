report bound_late.hlo --target=tpu --quiet --json=-
