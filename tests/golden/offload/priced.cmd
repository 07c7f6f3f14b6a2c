priced.hlo --scheduler=input --algorithm=search --remat-mode=recompute,offload --small-node-limit=0 --device=device.json --mem-limit=34KiB -o - --quiet --json=summary.json
