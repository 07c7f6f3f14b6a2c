print input.hlo -o out.hlo
