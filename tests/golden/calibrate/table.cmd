calibrate measured.json --device=cpu --name=here -o here.json
