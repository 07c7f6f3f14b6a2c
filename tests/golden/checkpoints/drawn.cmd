advise drawn.hlo
