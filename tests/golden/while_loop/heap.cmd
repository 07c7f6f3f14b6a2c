input.hlo --scheduler=input --algorithm=none --memory-model=heap --dump-memlog=- --copies=pending
