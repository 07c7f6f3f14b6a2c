list --names=packings
