hlo_samples/gpt_unrolled.after_optimizations.hlo --algorithm=checkpoint=speed --small-node-limit=0 --mem-limit=min --quiet --json=-
