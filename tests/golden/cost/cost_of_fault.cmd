cost custom_calls.hlo --cost-of=who:flops=many
