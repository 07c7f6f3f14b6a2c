advise whole.hlo
