fmt crlf.hlo input.hlo
