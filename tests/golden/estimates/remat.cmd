remat input.hlo --device=tpu-v5e --small-node-limit=0 --mem-limit=85% --algorithm=path -o result.hlo
