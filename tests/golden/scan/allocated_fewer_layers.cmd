verify allocated.hlo allocated_fewer_layers.hlo
