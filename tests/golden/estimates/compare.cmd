compare input.hlo --device=tpu-v5e --algorithms=path --schedulers=input --budgets=80%
