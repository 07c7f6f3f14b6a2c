later.hlo --algorithm=search --memory-model=xla-remat --small-node-limit=0 --mem-limit=min --emit=unscheduled --protect=opt-barrier
