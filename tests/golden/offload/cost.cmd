cost away.hlo --device=device.json --offload-to-device=2KiB
