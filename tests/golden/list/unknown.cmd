list --names=colours
