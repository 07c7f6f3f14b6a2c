odd_layout.hlo --algorithm=path --memory-model=liveness --mem-limit=min --small-node-limit=0 --protect=opt-barrier -q -o -
