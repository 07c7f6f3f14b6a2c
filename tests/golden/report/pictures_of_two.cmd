report input.hlo after.hlo --svg=memory.svg --quiet --copies=pending
