input.hlo --scheduler=input --small-node-limit=0 --mem-limit=21KiB --limit-counts=temp -o - --algorithm=standard --memory-model=liveness-once --compat --copies=pending --quiet --json=summary.json
