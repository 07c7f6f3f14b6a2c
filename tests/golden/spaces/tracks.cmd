report tracks.hlo --target=tpu
