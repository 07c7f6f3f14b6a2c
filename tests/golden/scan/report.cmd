report layers.hlo --top=4 --copies=pending
