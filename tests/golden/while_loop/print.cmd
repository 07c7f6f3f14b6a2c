print input.hlo
