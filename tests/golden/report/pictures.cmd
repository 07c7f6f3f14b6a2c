report input.hlo --svg=memory.svg --perfetto=memory.json --max-peak=104KiB --quiet --copies=pending
