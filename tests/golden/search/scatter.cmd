scatter.hlo --algorithm=search --small-node-limit=0 --mem-limit=18KiB --quiet -o - --json=summary.json
