print bare.hlo
