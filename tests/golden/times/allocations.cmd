cost step.hlo --times=allocations.trace.json --device=cpu --top=1
