/* What a repetition hands on in parts. The output of a layer is often a sum, `x + f(x)`, that XLA
 * fuses with what reads it, so that the next layer reads both summands. Under a checkpoint the
 * output itself waits, as the input of the next layer: the parts do not. */
#ifndef REMAT_HLO_ADVICE_JOIN_PARTS_H
#define REMAT_HLO_ADVICE_JOIN_PARTS_H

#include "advice/scope_study.h"

/* Of values of one size that a repetition hands on, and of which one is read outside of it only
 * where another one is read as well, has the other one stand for both there. Returns whether
 * something was changed; then a fusion may read a value of another type than it expects.
 * O(instructions * readers). */
bool join_parts(const Study *study, const Proposal *proposal, Rewrite *rewrite, Arena *scratch);

#endif
