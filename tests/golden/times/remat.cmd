remat step.hlo --times=step.xplane.pb.gz --device=cpu --mem-limit=80% --small-node-limit=0 -o result.hlo
