check after.hlo --baseline=known.json
