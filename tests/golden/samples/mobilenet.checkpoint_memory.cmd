hlo_samples/mobilenet.after_optimizations.hlo --algorithm=checkpoint=memory --small-node-limit=0 --mem-limit=min --quiet --json=-
