report states.hlo --target=tpu --quiet --json=-
