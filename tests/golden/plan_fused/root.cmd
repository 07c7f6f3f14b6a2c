root.hlo --algorithm=path-compat --memory-model=xla-remat --small-node-limit=0 --mem-limit=min -q --save-plan=- -o result.hlo
