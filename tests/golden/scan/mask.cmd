mask.hlo --copies=inserted --target=tpu --small-node-limit=0 --algorithm=scan --mem-limit=70% --quiet -o -
