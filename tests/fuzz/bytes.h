/* What fuzz targets print into: an rh_write_fn that keeps the bytes. */
#ifndef REMAT_HLO_FUZZ_BYTES_H
#define REMAT_HLO_FUZZ_BYTES_H

#include <stdlib.h>
#include <string.h>

typedef struct Bytes {
  char *data; /* the caller's to free() */
  size_t len, cap;
  size_t max; /* beyond it writing fails; 0 = no limit */
} Bytes;

static inline int bytes_append(void *context, const char *data, size_t length) {
  Bytes *bytes = context;
  if (bytes->max && bytes->len + length > bytes->max) return 1;
  if (bytes->len + length > bytes->cap) {
    bytes->cap = (bytes->len + length) * 2;
    bytes->data = realloc(bytes->data, bytes->cap);
    if (!bytes->data) abort();
  }
  memcpy(bytes->data + bytes->len, data, length);
  bytes->len += length;
  return 0;
}

#endif
