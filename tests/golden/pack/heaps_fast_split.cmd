pack heaps.csv --packing=fast-split --heap-limit=50 --quiet
