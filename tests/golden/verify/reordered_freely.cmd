verify before.hlo reordered.hlo --ignore-schedule
