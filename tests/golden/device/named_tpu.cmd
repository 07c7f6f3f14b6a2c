cost step.v6e.hlo --top=1
