verify crlf_fault.hlo truncated.hlo
