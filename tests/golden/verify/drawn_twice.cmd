verify before.hlo drawn_twice.hlo
