input.hlo --apply-plan=edited.json --memory-model=xla-remat --mem-limit=1KiB --quiet --json=-
