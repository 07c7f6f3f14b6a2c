cost custom_calls.hlo --csv=- -q
