/* Lists that the library hands out are lists of pointers, so that their elements can grow. */
#ifndef REMAT_HLO_IR_POINTERS_H
#define REMAT_HLO_IR_POINTERS_H

#include "ir/arena.h"

/* The address of each of the `len` elements, `size` bytes apart, of an array that lives as long as
 * `out`. */
static inline void *pointers_to(const void *array, size_t len, size_t size, Arena *out) {
  const void **list = arena_array(out, const void *, len);
  for (size_t i = 0; i < len; i++)
    list[i] = (const char *)array + i * size;
  return list;
}

#endif
