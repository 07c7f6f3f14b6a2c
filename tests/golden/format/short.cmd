fmt input.hlo --short
