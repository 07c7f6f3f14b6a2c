split.hlo --target=gpu --device=h100-sxm --mem-limit=min --small-node-limit=0 --quiet -o -
