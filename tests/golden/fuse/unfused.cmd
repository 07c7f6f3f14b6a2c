input.hlo --algorithm=search --mem-limit=75% --copies=pending -o - --quiet --emit=unscheduled --protect=opt-barrier
