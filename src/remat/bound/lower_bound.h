/* A lower bound on the peak memory of a module, for every order and for every choice of
 * recomputation. It shows that a budget cannot be met, and which instruction is the reason: in
 * every schedule, both operands of a dot are live while it runs. */
#ifndef REMAT_HLO_REMAT_BOUND_LOWER_BOUND_H
#define REMAT_HLO_REMAT_BOUND_LOWER_BOUND_H

#include "analysis/memory/memory_model.h"
#include "remat/legality/legality.h"

typedef struct LowerBound {
  int64_t bytes; /* of the model's peak */
  /* the instruction that needs them, in any computation; NO_ID if it is not a single instruction */
  InstId inst;
  /* it holds for recomputation across the border between loops, too; false = there is no loop that
   * stacks values for another */
  bool covers_loops;
} LowerBound;

/* How the model counts. */
typedef struct LowerBoundRules {
  bool counts_params; /* the parameters are counted; a result may reuse an operand's memory */
  /* values that live at the same time have memory of their own; otherwise what is said of donated
   * parameters, and of what is given and returned, is left out */
  bool keeps_apart;
  ConstantCount constants;
  /* loops go on to store what others read of them: the bound of what is done without remat/scan */
  bool keeps_loops;
} LowerBoundRules;

/* The bound is the largest memory that any one instruction needs. It consists of the instruction's
 * operands and results, of what its callees need, of the values that can be computed only once and
 * that every order computes before the instruction and reads after it, and of the donated
 * parameters that are read after it in every order, or whose memory an output needs already
 * (held.c). The outputs are added, and the parameters and constants if the model counts them.
 * Where a model keeps parameters and outputs all the time, what does not fit into their memory is
 * added to it, if that is more (given_memory.h).
 *
 * Loops can compute again what others would stack for them (remat/scan). So only those elements of
 * their states count that must exist even then: see needed.h. This does not depend on which of the
 * stacks can really be recomputed, or on how many iterations of a stack are stored. Where loops may
 * be written out (analysis/loop/misaligned.h), the bound is what is there from the beginning to the
 * end.
 *
 * requires: every instruction that runs is needed (remat/rewrite/dce.h). Otherwise the bound still
 * holds, but only counts the needed ones. O(instructions + edges) for each of a few instructions.
 */
LowerBound lower_bound(const Module *module, const Legality *legality, const LowerBoundRules *rules,
                       Arena *scratch);

#endif
