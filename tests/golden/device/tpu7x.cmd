cost tpu7x.hlo --top=1
