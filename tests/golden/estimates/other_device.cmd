cost input.hlo --device=h100-sxm
