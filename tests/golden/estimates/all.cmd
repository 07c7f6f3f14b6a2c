cost input.hlo --device=tpu-v5e
