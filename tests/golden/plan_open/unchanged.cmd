unchanged.hlo --copies=inserted --algorithm=path-compat --small-node-limit=0 --mem-limit=min --emit=unscheduled -q --save-plan=- -o result.hlo
