tracks.hlo --target=tpu --device=tpu-v5e --mem-limit=min
