input.hlo --scheduler=input --algorithm=standard --remat-mode=narrow --memory-model=xla-remat --small-node-limit=0 --mem-limit=min -q --save-plan=- -o result.hlo
