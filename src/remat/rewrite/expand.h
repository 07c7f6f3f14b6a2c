/* Shared code of inlining and unfusing: it puts the copies into a schedule, and limits how far the
 * module grows. */
#ifndef REMAT_HLO_REMAT_REWRITE_EXPAND_H
#define REMAT_HLO_REMAT_REWRITE_EXPAND_H

#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* The copies that have replaced each instruction. */
typedef struct Expansions {
  NewInsts *of; /* by InstId of the replaced instruction: its copies; empty = it was not replaced */
  uint32_t len;
  Arena *arena;
} Expansions;

Expansions expansions_begin(const Module *module, Arena *out);
void expansions_add(Expansions *expansions, InstId replaced, NewInsts copies);

/* Puts the copies into the sequence of a computation, in place of the instructions that they
 * replace. The new sequence is allocated in `out`. Does nothing if there is no schedule, or if the
 * computation has no sequence in it. */
void expansions_apply(const Expansions *expansions, const Module *module, CompId comp,
                      Schedule *schedule, Arena *out);

/* Returns RH_ERR_INPUT when the module has grown beyond the limit for a module whose text has this
 * number of instructions. */
rh_status expansion_check(const Module *module, rh_diags *diags);

#endif
