report open.hlo --csv=- --top=1
