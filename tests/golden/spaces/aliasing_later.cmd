report aliasing_later.hlo --target=tpu --quiet --json=-
