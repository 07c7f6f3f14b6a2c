report input.hlo --fuse --copies=pending
