/* Stacks of a forward loop for a backward loop, found by the memory that both have in their states,
 * and not by what the loops compute: where a backend has rewritten loops so that remat/scan cannot
 * (control dependencies, copies of whole stacks, asynchronous updates), this still says what a
 * checkpoint in the program would do, because that is not bound by what the backend made of the
 * loop. */
#ifndef REMAT_HLO_ADVICE_STACK_MEMORY_H
#define REMAT_HLO_ADVICE_STACK_MEMORY_H

#include "advice/scan_study.h"
#include "advice/stack_source.h"

/* The memory of one stack. A copy of a stack has memory of its own. */
typedef struct StackMemory {
  BufferId buffer;
  StackSource source; /* what is written there in an iteration */
  BufferId reader;    /* what the backward loop has: the same, or a copy of it */
  ShapeId shape;
  int64_t bytes;
} StackMemory;

/* A loop that runs forward, and the loop that reads what it stacks. */
typedef struct LoopPair {
  InstId forward, backward;
  uint32_t scan; /* the first pair of the same scan of the program */
  ScanPlace
      place; /* as of a loop that remat/scan knows; of the first pair, with the bytes of all */
  int64_t trips;
  int64_t stacked_bytes;  /* of all stacks */
  int64_t carried_bytes;  /* of what one iteration hands on to the next, without stacks; where a
                             stack has it in a narrower type now, in that type */
  int64_t summed_bytes;   /* the same of the backward loop, such as gradients that are added up */
  int64_t sliced_bytes;   /* of the arrays besides that it reads a slice of in each iteration */
  double forward_seconds; /* modelled, of all iterations of the forward loop */
  IdVec memory;           /* by BufferId: of stacks and their copies */
  VEC(StackMemory) stacks;
} LoopPair;

typedef struct LoopPairs {
  VEC(LoopPair) list;
} LoopPairs;

LoopPairs loop_pairs_find(Advisor *advisor, Arena *out);

/* The divisor of the number of iterations that is closest to its root, which is the largest one
 * that is not above it; 0 if there is none. */
int64_t loop_pair_segment(const LoopPair *pair);

/* The modelled seconds of all forward loops of a scan. */
double loop_pairs_seconds(const LoopPairs *pairs, uint32_t scan);

/* Whether what a rewrite of the loop leaves in its stacks is no more than what a checkpoint stacks.
 */
static inline bool loop_pair_is_done(const LoopPair *pair, int64_t stored_bytes) {
  int64_t kept_bytes = pair->carried_bytes * pair->trips;
  return stored_bytes >= 0 && stored_bytes <= kept_bytes + kept_bytes / 16;
}

/* The module in which the forward loops of a scan, by its first pair, stack only what is carried,
 * and the backward loops have in each iteration what was stacked of it. With `is_nested` the scan
 * is cut into segments (loop_pair_segment()), and what a segment reads and adds up is held besides;
 * loops of a number of iterations that cannot be cut stay as with a checkpoint. */
rh_module *loop_pairs_simulate(const Advisor *advisor, const LoopPairs *pairs, uint32_t scan,
                               bool is_nested);

#endif
