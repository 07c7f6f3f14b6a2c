fmt input.hlo --strip-locations
