verify new_names_before.hlo new_names.hlo
