/* Integers that a loop computes from the number of the iteration: counters, and indices of slices.
 * Each is listed for all iterations, so that any arithmetic that computes it is covered: negative
 * indices from the end, clamping, reversed order, strides. */
#ifndef REMAT_HLO_ANALYSIS_LOOP_COUNT_H
#define REMAT_HLO_ANALYSIS_LOOP_COUNT_H

#include "analysis/loop/loop.h"

/* The state of listing values of one loop's body after another. */
typedef struct CountLists {
  const Loops *loops;
  const Loop *loop;
  const int64_t **known; /* by InstId; NULL = not listed yet, or unknown */
  uint8_t *state;        /* by InstId */
  IdVec touched;         /* the instructions whose state is set */
  uint32_t depth;
  Arena *arena; /* of this struct */
  Arena *out;   /* of the lists */
} CountLists;

CountLists count_lists_begin(const Loops *loops, Arena *arena);

/* Turns to a loop; lists are allocated in `out` from now on. Earlier lists stay valid. */
void count_lists_enter(CountLists *lists, const Loop *loop, Arena *out);

/* Finds the elements of the state that count, and lists their values in loop->counts. An element
 * counts if it begins as a constant integer, and changes by the same constant in each iteration. */
void loop_count(CountLists *lists, Loop *loop, Arena *out, Arena *scratch);

/* An element that counts, from whose value the number of the iteration follows: one that changes by
 * one if there is any, or else one that changes at all; NO_ID if there is none. */
uint32_t count_counter_of(const Loop *loop);

/* The values of a scalar integer, or of an array with one element, at all iterations: loop->trips
 * numbers; NULL if they are unknown or one of them does not fit its type. `id` is in the body or in
 * a computation of a fusion in it. */
const int64_t *count_list(CountLists *lists, InstId id);

/* Whether list[t] = first + t * step for all t below `count`. */
bool count_is_linear(const int64_t *list, int64_t count, int64_t *first, int64_t *step);

#endif
