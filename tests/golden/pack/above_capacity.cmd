pack orders.csv --packing=xla --capacity=90 --quiet
