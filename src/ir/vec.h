/* Growable arrays in an arena:
 *
 *   VEC(InstId) order = {0};
 *   *vec_push(arena, &order) = id; */
#ifndef REMAT_HLO_IR_VEC_H
#define REMAT_HLO_IR_VEC_H

#include <stdint.h>

#include "ir/arena.h"

#define VEC(type)      \
  struct {             \
    type *data;        \
    uint32_t len, cap; \
  }

/* A growable list of ids of any kind. */
typedef VEC(uint32_t) IdVec;

/* Appends one element. The result points to it, for the caller to assign it. */
#define vec_push(arena, vec)                                                                      \
  (((vec)->len == (vec)->cap ? (void)((vec)->data = vec_grow((arena), (vec)->data, &(vec)->cap,   \
                                                             (vec)->len, 1, sizeof *(vec)->data)) \
                             : (void)0),                                                          \
   &(vec)->data[(vec)->len++])

/* Appends `count` elements. The result points to the first of them and is valid until the next
 * push. Afterwards the list has memory even if `count` is 0. */
#define vec_extend(arena, vec, count)                                                          \
  (!(vec)->data || (uint64_t)(vec)->len + (count) > (vec)->cap                                 \
       ? (void)((vec)->data = vec_grow((arena), (vec)->data, &(vec)->cap, (vec)->len, (count), \
                                       sizeof *(vec)->data))                                   \
       : (void)0,                                                                              \
   (vec)->len += (count), (vec)->data + ((vec)->len - (count)))

/* Makes room for `count` elements in total. Unused memory is not touched. */
#define vec_reserve(arena, vec, count)                                                \
  ((count) > (vec)->cap                                                               \
       ? (void)((vec)->data = vec_grow((arena), (vec)->data, &(vec)->cap, (vec)->len, \
                                       (count) - (vec)->len, sizeof *(vec)->data))    \
       : (void)0)

/* Makes room for `more` elements beyond `len`; the capacity at least doubles. Counts beyond 2^32
 * are reported as out of memory, because ids are 32 bits wide everywhere. */
static inline void *vec_grow(Arena *arena, void *data, uint32_t *cap, uint32_t len, uint32_t more,
                             size_t size) {
  uint64_t wanted = (uint64_t)len + more;
  uint64_t new_cap = *cap ? (uint64_t)*cap * 2 : 4;
  if (new_cap < wanted) new_cap = wanted;
  if (new_cap > UINT32_MAX) new_cap = wanted;
  if (wanted > UINT32_MAX) arena_array_bytes(arena, SIZE_MAX, 2);
  data =
      arena_grow(arena, data, (size_t)*cap * size, arena_array_bytes(arena, (size_t)new_cap, size));
  *cap = (uint32_t)new_cap;
  return data;
}

#endif
