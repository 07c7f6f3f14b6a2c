verify before.hlo other_constant.hlo
