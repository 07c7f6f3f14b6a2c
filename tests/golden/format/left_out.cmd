fmt left_out.hlo
