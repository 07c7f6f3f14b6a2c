verify before.hlo same.hlo
