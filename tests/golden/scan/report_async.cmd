report async.hlo --top=4
