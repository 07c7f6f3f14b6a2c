/* Offset packing: where buffers lie in one piece of memory when it is known how long each lives.
 * Two buffers that live at the same time must not overlap; the end of the highest one, the height,
 * is what the memory must have. The problem is NP-hard (dynamic storage allocation).
 *
 * Where no piece of memory, a heap, may be larger than a limit, buffers go into several, and the
 * sum of their heights counts. The limit is soft: a buffer that is larger has a heap of its size,
 * and what is colocated with a smaller value may reach above the limit, as XLA has it.
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

/* Memory that is used as a whole: that of one value, or of several that are colocated in it, each
 * with a range of its own. Ranges of one buffer may overlap. Ids are the order that ties are broken
 * by: XLA's is that of the value which is allocated. */
typedef struct PackBuffer {
  int64_t bytes;       /* of the largest value in it; 0 takes no memory, its offset is 0 */
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

/* What all sizes together, each with its alignment, must not exceed. */
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
  int64_t height_bytes;     /* the highest end; of several heaps the sum */
  bool is_optimal;          /* proven: there is none that is lower */
  bool any_will_do;         /* given: of packings of one height nobody asks which it is */
  uint32_t *heaps;          /* by buffer; NULL, which is given: one heap without a limit */
  uint32_t num_heaps;       /* with `heaps`: at least 1; each has a buffer, if there are any */
  int64_t heap_limit_bytes; /* given with `heaps`; at least 0 */
} Packing;

/* Fills a packing whose `offsets`, and `heaps` if there is a limit, have room for all buffers.
 * `capacity_bytes` is a height that is good enough, -1 = none is. Deterministic but for a time
 * limit. */
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

/* From the first tick of what is colocated to the last. */
PackRange pack_whole_range(const PackProblem *problem, const PackBuffer *buffer);

/* The end of the highest buffer. */
int64_t pack_height(const PackProblem *problem, const int64_t *offsets);

/* The heights of a packing's heaps. */
int64_t *pack_heap_heights(const PackProblem *problem, const Packing *packing, Arena *out);

/* Whether a packing is right, found out by itself: offsets aligned and not negative, no two buffers
 * in the same place of a heap at the same time, heights that add up and keep to the limit.
 * O(n log n). */
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
