advise merged.hlo
