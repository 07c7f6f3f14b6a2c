list --options=remat
