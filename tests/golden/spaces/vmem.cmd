report vmem.hlo --target=tpu --quiet --json=-
