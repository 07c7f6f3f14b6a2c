input.hlo --mem-limit=50% --remat-collectives
