view_of_element.hlo --algorithm=search --memory-model=xla-remat --small-node-limit=0 --mem-limit=min --quiet -o -
