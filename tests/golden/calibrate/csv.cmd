calibrate measured.json --csv=- -o here.json -q
