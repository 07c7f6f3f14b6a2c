input.hlo --unfuse=shared --algorithm=none --quiet -o -
