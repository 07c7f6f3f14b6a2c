input.hlo --scheduler=input --algorithm=offload --memory-model=xla-remat --small-node-limit=0 --device=device.json --mem-limit=21KiB --save-plan=- --quiet --json=summary.json
