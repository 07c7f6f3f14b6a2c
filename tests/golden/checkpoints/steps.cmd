advise steps.hlo
