report range.hlo --top=1
