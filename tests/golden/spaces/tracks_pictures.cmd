report tracks.hlo --target=tpu --quiet --svg=a.svg --perfetto=a.json
