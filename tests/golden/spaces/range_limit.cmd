range.hlo --mem-limit=400MiB --quiet --json=-
