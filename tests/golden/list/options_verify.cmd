list --options=verify
