report random.hlo --top=4 --copies=pending
