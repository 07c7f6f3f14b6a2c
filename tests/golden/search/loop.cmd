loop.hlo --algorithm=search --small-node-limit=0 --mem-limit=24KiB --quiet -o - --json=summary.json
