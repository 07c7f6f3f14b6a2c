report dynamic.hlo --top=2 --copies=pending
