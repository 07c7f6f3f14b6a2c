input.hlo --scheduler=input --small-node-limit=0 --mem-limit=21KiB --limit-counts=temp -q -o path_clone.hlo --save-plan=- --algorithm=path --memory-model=xla-remat --clone-callees --copies=pending
