cost step.sm_9.0a_gpu_after_optimizations.txt --top=1
