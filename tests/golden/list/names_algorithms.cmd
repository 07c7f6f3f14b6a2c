list --names=algorithms
