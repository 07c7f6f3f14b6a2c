calibrate dumps --device=h100-sxm -o here.json
