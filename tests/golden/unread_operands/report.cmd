report input.hlo --memory-model=heap --top=20
