input.hlo --scheduler=input --algorithm=offload --small-node-limit=0 --device=device.json --mem-limit=17KiB -o -
