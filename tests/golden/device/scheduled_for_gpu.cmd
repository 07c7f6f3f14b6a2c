report scheduled_for_gpu.hlo --quiet --json=-
