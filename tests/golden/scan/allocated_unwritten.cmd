verify allocated.hlo allocated_unwritten.hlo
