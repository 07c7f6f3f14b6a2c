input.hlo --scheduler=input --algorithm=standard --mem-limit=min
