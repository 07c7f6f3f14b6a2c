verify before.hlo swapped.hlo
