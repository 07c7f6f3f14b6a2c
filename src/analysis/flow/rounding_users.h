/* Who reads the instructions of a compiled function, as far as that decides how a sum rounds (see
 * rounding.h). LLVM contracts a product with a sum only if nothing else reads it
 * (XY->hasOneUse() in llvm/lib/CodeGen/SelectionDAG/DAGCombiner.cpp), and computes congruent
 * expressions once. So two questions are asked of a product, and each is answered on the safe side:
 * how many may read it at most, and whether two certainly do. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_ROUNDING_USERS_H
#define REMAT_HLO_ANALYSIS_FLOW_ROUNDING_USERS_H

#include "ir/schedule.h"

typedef struct RoundingUsers {
  uint64_t *hashes;    /* by place: equal for what may be computed once. Shapes do not matter, and
                          nor does what only moves all elements */
  uint32_t *class_of;  /* by place: a number that instructions with equal hashes share */
  uint32_t *num_users; /* by class: so many instructions read its members at most */
  bool *is_needed;     /* by place: a result depends on it */
  bool *is_shared;     /* by place: wherever it is computed, it is computed once for two readers,
                          of which LLVM can remove none: a product that multiplies or divides again,
                          or that is stored */
} RoundingUsers;

/* What is asked about: a function, the fusion that calls it (NO_ID = none), and the instructions
 * that are its results. */
typedef struct RoundingFunction {
  const Module *module;
  Sequence order; /* operands first */
  const uint32_t *place;
  InstId caller;
  const InstId *results;
  uint32_t num_results;
  bool is_nested; /* other computations of the function read the results */
} RoundingFunction;

/* The lists are in `out`. O(instructions). */
RoundingUsers rounding_users_find(const RoundingFunction *function, Arena *out, Arena *scratch);

/* Whether the instruction is a multiplication by a power of two: its result is exact, so it does
 * not matter whether it is contracted, as long as it is no subnormal number. LLVM makes such a
 * multiplication of a division, and of no other division. */
bool rounding_is_exact(const Module *module, InstId multiply);

#endif
