verify joined.hlo joined_swapped.hlo
