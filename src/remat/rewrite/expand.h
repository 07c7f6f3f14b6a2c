/* What inlining and unfusing share: where the copies go in a schedule, and when it is too much. */
#ifndef REMAT_HLO_REMAT_REWRITE_EXPAND_H
#define REMAT_HLO_REMAT_REWRITE_EXPAND_H

#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* The copies that took an instruction's place. */
typedef struct Expansions {
  NewInsts *of; /* by InstId, for the instructions that there were; empty = none */
  uint32_t len;
  Arena *arena;
} Expansions;

Expansions expansions_begin(const Module *module, Arena *out);
void expansions_add(Expansions *expansions, InstId replaced, NewInsts copies);

/* Puts the copies into the sequence of a computation; the new one lies in `out`. Nothing without a
 * schedule, or where it has no sequence. */
void expansions_apply(const Expansions *expansions, const Module *module, CompId comp,
                      Schedule *schedule, Arena *out);

/* RH_ERR_INPUT when the module has grown beyond what a text of its size may become. */
rh_status expansion_check(const Module *module, rh_diags *diags);

#endif
