input.hlo --scheduler=default --algorithm=path --memory-model=xla-remat --xla_rematerialization_disable_cuda --small-node-limit=0 --mem-limit=16392 --json=- -o out.hlo --quiet
