hlo_samples/mobilenet.before_optimizations.hlo --scheduler=default --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=r60% --quiet --json=-
