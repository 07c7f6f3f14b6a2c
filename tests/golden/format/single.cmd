fmt single.hlo
