same_control.hlo --algorithm=path --memory-model=liveness --small-node-limit=0 --mem-limit=min -q --save-plan=- -o result.hlo
