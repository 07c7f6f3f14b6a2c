cost step.xplane.pb.gz --device=cpu
