check first.hlo none.hlo second.hlo
