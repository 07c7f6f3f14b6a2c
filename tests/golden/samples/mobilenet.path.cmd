hlo_samples/mobilenet.after_optimizations.hlo --scheduler=input --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=r50% --quiet --json=-
