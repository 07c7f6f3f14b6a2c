truncated.hlo --scheduler=auto --algorithm=path --memory-model=xla-remat -o out.hlo --json=summary.json --dump-memlog=mem.log --dump-dot=graphs
