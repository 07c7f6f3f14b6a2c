loop_in_call.hlo --mem-limit=min
