element.hlo --apply-plan=element.json --memory-model=liveness --target=tpu --device=device.json --offload-to-host=1GiB --offload-to-device=1GiB -q -o - --json=summary.json
