hlo_samples/resnet.after_optimizations.hlo --scheduler=input --algorithm=standard --memory-model=xla-remat --small-node-limit=0 --mem-limit=r50% --quiet --json=-
