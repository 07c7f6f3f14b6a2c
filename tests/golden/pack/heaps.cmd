pack heaps.csv --packing=xla --heap-limit=50 --quiet
