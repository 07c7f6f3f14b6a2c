pack aligned.csv --quiet
