fmt crlf.hlo
