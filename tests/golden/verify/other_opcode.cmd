verify before.hlo other_opcode.hlo
