check input.hlo --memory-model=liveness --max-peak=100KiB --copies=pending
