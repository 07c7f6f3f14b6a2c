first.hlo none.hlo second.hlo --scheduler=input --algorithm=none --memory-model=xla-remat -o out/ --quiet
