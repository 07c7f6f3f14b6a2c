report split.hlo --target=gpu --quiet --json=-
