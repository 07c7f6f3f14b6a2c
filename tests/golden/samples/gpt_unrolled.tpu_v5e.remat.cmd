hlo_samples/accelerators/gpt_unrolled.v5e.after_optimizations_before_buffer_assignment.txt --mem-limit=50% --quiet --json=-
