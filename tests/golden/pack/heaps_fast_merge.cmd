pack heaps.csv --packing=fast-merge --heap-limit=50 --quiet
