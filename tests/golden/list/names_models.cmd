list --names=models
