no_stacks_in_call.hlo --mem-limit=min
