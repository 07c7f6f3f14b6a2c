input.hlo --scheduler=input --small-node-limit=0 --mem-limit=21KiB --limit-counts=temp -q -o result.hlo --save-plan=- --algorithm=path --memory-model=xla-remat --clone-callees
