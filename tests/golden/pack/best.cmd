pack input.csv --quiet
