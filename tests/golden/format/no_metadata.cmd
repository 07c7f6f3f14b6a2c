fmt input.hlo --no-metadata -o out.hlo
