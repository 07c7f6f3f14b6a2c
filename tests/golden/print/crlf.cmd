print crlf.hlo
