moves.hlo --target=tpu --device=tpu-v5e --mem-limit=min --small-node-limit=0 --ignore-schedule --scheduler=bfs --quiet --json=-
