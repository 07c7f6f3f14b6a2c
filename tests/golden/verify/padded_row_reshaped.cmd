verify padded_row.hlo padded_row_reshaped.hlo
