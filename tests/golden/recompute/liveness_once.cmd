input.hlo --scheduler=input --algorithm=path --memory-model=liveness-once --small-node-limit=0 --mem-limit=14KiB --quiet --json=-
