check after.hlo --baseline=known.json --copies=pending
