advise saves.hlo
