list --options=pack
