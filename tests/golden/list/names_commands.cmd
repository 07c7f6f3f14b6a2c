list --names=commands
