hlo_samples/accelerators/gpt_unrolled.sm_9.0a_gpu_after_optimizations.txt --mem-limit=50% --quiet --json=-
