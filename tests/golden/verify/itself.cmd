verify before.hlo before.hlo
