input.hlo --mem-limit=50%
