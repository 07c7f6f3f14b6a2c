/* Arithmetic on counts of bytes and elements that detects overflow. */
#ifndef REMAT_HLO_IR_BYTES_H
#define REMAT_HLO_IR_BYTES_H

#include <stdbool.h>
#include <stdint.h>

/* Both functions return false if the result does not fit. `*out` is then unchanged. */
static inline bool mul_bytes(int64_t a, int64_t b, int64_t *out) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return false;
  *out = result;
  return true;
}

static inline bool add_bytes(int64_t a, int64_t b, int64_t *out) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return false;
  *out = result;
  return true;
}

#endif
