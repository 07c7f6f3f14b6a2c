cost gpu.hlo --top=1
