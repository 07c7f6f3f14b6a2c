chain.hlo --algorithm=optimal --memory-model=liveness --mem-limit=100% --set=optimal.columns=1 --quiet --json=-
