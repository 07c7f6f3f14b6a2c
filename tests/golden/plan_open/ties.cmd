input.hlo --algorithm=checkpoint=speed --memory-model=xla-remat --small-node-limit=0 --mem-limit=min --emit=unscheduled -q --save-plan=- -o result.hlo
