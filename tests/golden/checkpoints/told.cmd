advise told.hlo
