print unclosed_bracket.hlo -o out.hlo
