report aliasing_carried.hlo --target=tpu --quiet --json=-
