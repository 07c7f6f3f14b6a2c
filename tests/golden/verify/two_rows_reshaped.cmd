verify two_rows.hlo two_rows_reshaped.hlo
