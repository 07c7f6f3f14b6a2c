/* Offset packing: the offsets of buffers in one piece of memory when the lifetime of each is known.
 * Two buffers that live at the same time must not overlap. The end of the highest buffer, the
 * height, is the size of the memory. The problem is NP-hard (dynamic storage allocation).
 *
 * Example: a and b of 16 bytes live in ticks [0, 2) and [1, 3), c of 16 bytes in [2, 4). a at 0, b
 * at 16 and c at 0 is a packing of height 32.
 *
 * If there is a limit for the size of a piece of memory, a heap, buffers go into several heaps, and
 * the sum of their heights counts. The limit is soft, as in XLA: a buffer that is larger has a heap
 * of its own size, and a buffer may reach above the limit if the value that is allocated in it does
 * not.
 *
 * A packing is a row in packings.def and a function pack_IDENTIFIER(). */
#ifndef REMAT_HLO_ANALYSIS_PACK_PACKING_H
#define REMAT_HLO_ANALYSIS_PACK_PACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"

/* Ticks [begin, end) of any clock, such as HeapSimulator's; begin < end. */
typedef struct PackRange {
  int64_t begin, end;
} PackRange;

/* Memory that is used as a whole: that of one value, or of several colocated values, each with a
 * range of its own. Ranges of one buffer may overlap. Ties are broken by ids; in XLA these are the
 * ids of the values that are allocated. */
typedef struct PackBuffer {
  int64_t
      bytes; /* of its largest value; a buffer of 0 bytes takes no memory, and its offset is 0 */
  int64_t first_bytes; /* of the value that is allocated, which the others share; at most `bytes` */
  int64_t alignment;   /* of the offset, at least 1; need not be a power of two */
  uint32_t first_range, num_ranges; /* of PackProblem.ranges, at least one; that of the value that
                                       is allocated comes first */
} PackBuffer;

typedef struct PackProblem {
  const PackBuffer *buffers;
  const PackRange *ranges;
  uint32_t num_buffers, num_ranges;
} PackProblem;

/* The sum of all sizes, each with its alignment, must not exceed this. */
#define PACK_MAX_BYTES (INT64_MAX / 4)

typedef struct PackParameters PackParameters; /* parameters.h */

/* How long to look for something better, and how. A step is a look at one buffer at one time, some
 * nanoseconds. */
typedef struct PackBudget {
  uint64_t max_steps;
  uint64_t steps;        /* taken */
  double end_seconds;    /* as seconds_now(); 0 = none. Results then depend on the machine */
  uint64_t next_reading; /* of the clock, in steps */
  const PackParameters *parameters; /* NULL = the defaults */
} PackBudget;

typedef struct Packing {
  int64_t *offsets;         /* by buffer: in its heap */
  int64_t height_bytes;     /* the highest end; with several heaps the sum of their heights */
  bool is_optimal;          /* proven: no packing is lower */
  bool any_will_do;         /* given: any packing of the same height will do */
  uint32_t *heaps;          /* by buffer, given: NULL = one heap without a limit */
  uint32_t num_heaps;       /* with `heaps`: at least 1; each has a buffer if there are any */
  int64_t heap_limit_bytes; /* given with `heaps`; at least 0 */
} Packing;

/* Fills a packing whose `offsets`, and `heaps` if there is a limit, have room for all buffers.
 * `capacity_bytes` is a height that is good enough, -1 = none is. Deterministic unless there is a
 * time limit. */
typedef void (*PackFn)(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget,
                       Packing *packing, Arena *scratch);

typedef struct Packer {
  const char *name;
  const char *summary;
  PackFn run;
} Packer;

extern const Packer packers[];
extern const size_t num_packers;

/* NULL when there is none of this name. */
const Packer *packer_find(const char *name);

bool pack_budget_is_spent(PackBudget *budget);

/* From the first tick to the last of all values that are colocated in the buffer. */
PackRange pack_whole_range(const PackProblem *problem, const PackBuffer *buffer);

/* The end of the highest buffer. */
int64_t pack_height(const PackProblem *problem, const int64_t *offsets);

/* The heights of a packing's heaps. */
int64_t *pack_heap_heights(const PackProblem *problem, const Packing *packing, Arena *out);

/* Checks a packing independently: offsets are aligned and not negative, no two buffers overlap in a
 * heap at the same time, and heights add up and keep to the limit. O(n log n). */
bool packing_check(const PackProblem *problem, const Packing *packing, Arena *scratch);

static inline int64_t align_up(int64_t bytes, int64_t alignment) {
  int64_t over = alignment > 1 ? bytes % alignment : 0;
  return over ? bytes + (alignment - over) : bytes;
}

static inline int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

#define PACKER(id, name, summary)                                                        \
  void pack_##id(const PackProblem *problem, int64_t capacity_bytes, PackBudget *budget, \
                 Packing *packing, Arena *scratch);
#include "analysis/pack/packings.def"

#endif
