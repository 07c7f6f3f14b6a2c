pack bad.csv
