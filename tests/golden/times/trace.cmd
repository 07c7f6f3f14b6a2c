cost step.hlo --times=step.trace.json.gz --device=cpu --json=- -q
