cost step.hlo --times=step.hlo
