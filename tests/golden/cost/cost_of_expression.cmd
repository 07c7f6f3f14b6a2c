cost custom_calls.hlo '--cost-of=(:flops=1'
