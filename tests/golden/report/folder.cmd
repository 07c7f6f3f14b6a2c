report hlo_samples --memory-model=xla-remat
