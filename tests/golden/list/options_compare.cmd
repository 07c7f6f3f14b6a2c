list --options=compare
