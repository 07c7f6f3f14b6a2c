input.hlo --scheduler=input --algorithm=search --remat-mode=offload --small-node-limit=0 --device=device.json --mem-limit=min -o - --quiet --json=summary.json
