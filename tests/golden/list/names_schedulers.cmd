list --names=schedulers
