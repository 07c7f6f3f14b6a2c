cost custom_calls.hlo --csv=- -q '--cost-of=^who$:flops=1e9,bytes=4MiB' --cost-of=^without$:transcendentals=100 --cost-of=^kernel:flops=8e6 --cost-of=kernel:flops=1
