chain.hlo --algorithm=optimal --memory-model=liveness --mem-limit=60% --set=optimal.columns=1
