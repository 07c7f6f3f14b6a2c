report aliasing_shapes.hlo --target=tpu --quiet --json=-
