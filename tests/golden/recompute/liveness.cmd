input.hlo --scheduler=input --algorithm=standard --memory-model=liveness --small-node-limit=0 --mem-limit=14KiB --quiet --json=-
