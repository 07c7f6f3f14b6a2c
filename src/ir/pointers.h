/* Turns arrays into lists of pointers. The library returns such lists, so that the element types
 * can get new fields without breaking callers. */
#ifndef REMAT_HLO_IR_POINTERS_H
#define REMAT_HLO_IR_POINTERS_H

#include "ir/arena.h"

/* Returns a list of the addresses of `len` elements, `size` bytes apart. The array must live as
 * long as `out`. */
static inline void *pointers_to(const void *array, size_t len, size_t size, Arena *out) {
  const void **list = arena_array(out, const void *, len);
  for (size_t i = 0; i < len; i++)
    list[i] = (const char *)array + i * size;
  return list;
}

#endif
