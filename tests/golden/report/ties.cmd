after.hlo --algorithm=search --small-node-limit=0 --mem-limit=1KiB --quiet --json=- --copies=inserted
