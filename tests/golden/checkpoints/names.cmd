advise names.hlo
