cost other.hlo --times=step.xplane.pb.gz
