verify before.hlo reordered.hlo
