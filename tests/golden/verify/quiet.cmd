verify before.hlo swapped.hlo --quiet
