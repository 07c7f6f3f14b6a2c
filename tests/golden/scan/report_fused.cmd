report fused.hlo --top=4
