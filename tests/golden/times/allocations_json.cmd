cost step.hlo --times=allocations.trace.json --device=cpu --json=- -q
