pack orders.csv --capacity=90 --quiet
