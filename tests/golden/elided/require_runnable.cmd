input.hlo --scheduler=input --algorithm=none --memory-model=xla-remat --require-runnable -o out.hlo
