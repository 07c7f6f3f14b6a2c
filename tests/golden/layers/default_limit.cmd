input.hlo --scheduler=default --algorithm=standard --memory-model=xla-remat --device=./toy.json --mem-limit=85% --quiet --json=-
