report range_read.hlo --quiet --json=-
