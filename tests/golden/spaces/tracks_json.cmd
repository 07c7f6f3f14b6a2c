report tracks.hlo --target=tpu --quiet --json=-
