report input.hlo --heap-limit=16KiB --top=3 --json=report.json --copies=pending
