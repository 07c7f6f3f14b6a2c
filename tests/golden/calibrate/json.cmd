calibrate measured.json --device=cpu --json=- -o here.json -q
