report range.hlo --quiet --json=-
