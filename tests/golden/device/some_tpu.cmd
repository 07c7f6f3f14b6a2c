cost tpu.hlo --top=1
