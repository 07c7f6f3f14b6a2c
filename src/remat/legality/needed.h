/* What a module must compute, whatever else is recomputed: in loops by element of their state.
 *
 * Where one loop stacks values for another (analysis/loop/stack.h), the other can compute them
 * again (remat/scan). The slices that it reads, and all that only exists for the stacks, are then
 * not needed: the stacks, the arrays that they begin as, other elements of the states, whole loops.
 * Which way the slices are computed instead is left open: a slice, and what merely copies it, may
 * come from anywhere, even from memory that is there anyway. What is computed from constants alone,
 * such as a mask, can be computed again wherever it is read, and slices of what a loop hands on can
 * become part of the fusions that read them. */
#ifndef REMAT_HLO_REMAT_LEGALITY_NEEDED_H
#define REMAT_HLO_REMAT_LEGALITY_NEEDED_H

#include "analysis/flow/side_effect.h"
#include "analysis/loop/stack.h"

typedef struct Needed {
  const Module *module;
  /* loops stack values for other loops; false = everything below is NULL, and what an instruction
   * reads is needed whenever the instruction is */
  bool covers_loops;
  /* Loops may be written out, because they stack values in other steps than those that read them;
   * nothing is known then of what is in memory at one time. */
  bool unrolls;
  bool *of_inst;        /* by InstId */
  bool *is_replaceable; /* by InstId: a slice of a stack, a copy of one, or from constants only */
  bool *is_constant;    /* by InstId: it is from constants only */
  /* by InstId: a slice of what a loop hands on, or a copy of one, which fusions can take themselves
   */
  bool *is_slice;
  uint32_t *first_element; /* by InstId, one entry more: range in the next two, empty for arrays */
  bool *of_element;        /* by element of the results that are tuples */
  bool *is_changed;        /* by element of loops' initial states: the body changes it */
  uint32_t *first_operand; /* by InstId, one entry more: range in is_stack */
  bool *is_stack; /* by operand: it is a stack that is read slice by slice, or of which a slice is
                     written for others to read */
} Needed;

/* O(instructions + edges), and the time of stacks_find(). */
Needed needed_find(const Module *module, const CallGraph *graph, const SideEffects *effects,
                   Arena *out, Arena *scratch);

/* Whether `user`, which must be needed, still reads this part of its operand. */
bool needed_reads(const Needed *needed, InstId operand, uint32_t part, InstId user);

/* Whether the part of an instruction's result is needed, given that the instruction is. */
bool needed_part(const Needed *needed, InstId id, uint32_t part);

#endif
