same.hlo --algorithm=path-compat --memory-model=liveness --small-node-limit=0 --mem-limit=95% -q --save-plan=- -o result.hlo
