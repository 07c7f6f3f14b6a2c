hlo_samples/gpt_unrolled.before_optimizations.hlo --scheduler=default --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=r60% --quiet --json=-
