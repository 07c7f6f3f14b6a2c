open.hlo --algorithm=none --json=summary.json -o -
