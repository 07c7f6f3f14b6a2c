report aliasing_read.hlo --target=tpu --quiet --json=-
