list --names=devices
