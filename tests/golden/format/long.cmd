fmt input.hlo
