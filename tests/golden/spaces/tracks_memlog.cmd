tracks.hlo --target=tpu --device=tpu-v5e --quiet --dump-memlog=a.csv --mem-limit=min
