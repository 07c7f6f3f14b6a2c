cost tpu.hlo --top=1 --device=h100-sxm
