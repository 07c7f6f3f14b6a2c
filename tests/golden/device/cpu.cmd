cost cpu.hlo --top=1
