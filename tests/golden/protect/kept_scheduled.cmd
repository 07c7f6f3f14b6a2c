input.hlo --scheduler=postorder --algorithm=path --memory-model=xla-remat --small-node-limit=0 --mem-limit=min
