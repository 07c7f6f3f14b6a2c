cost input.hlo
