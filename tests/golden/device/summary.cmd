tpu.hlo --dry-run
