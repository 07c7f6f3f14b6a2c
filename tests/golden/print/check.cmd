check input.hlo crlf.hlo bare.hlo
