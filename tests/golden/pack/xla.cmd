pack orders.csv --packing=xla --quiet
