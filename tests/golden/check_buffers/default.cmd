check input.hlo
