cost sparsecore.hlo --top=1
