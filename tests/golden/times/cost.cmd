cost step.hlo --times=step.xplane.pb.gz --device=cpu
