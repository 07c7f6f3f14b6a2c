report aliasing.hlo --target=tpu --quiet --json=-
