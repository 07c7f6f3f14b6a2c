verify before.hlo sent_once.hlo
