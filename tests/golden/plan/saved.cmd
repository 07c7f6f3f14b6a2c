input.hlo --mem-limit=min --small-node-limit=0 --memory-model=xla-remat -q --save-plan=- -o saved.hlo
