report input.hlo --memory-model=liveness --library=^/opt/company/ '--library=!/flax/'
