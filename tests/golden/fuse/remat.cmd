input.hlo --fuse --algorithm=search --mem-limit=75% --copies=pending -o -
