calibrate dumps --device=tpu-v5e --name=tpu-here -o here.json
