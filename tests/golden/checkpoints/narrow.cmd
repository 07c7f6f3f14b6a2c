advise narrow.hlo
