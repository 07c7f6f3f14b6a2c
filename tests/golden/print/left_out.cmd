print left_out.hlo
