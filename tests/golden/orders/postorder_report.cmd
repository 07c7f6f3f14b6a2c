input.hlo --scheduler=postorder --algorithm=none --memory-model=liveness --quiet --dump-memlog=-
