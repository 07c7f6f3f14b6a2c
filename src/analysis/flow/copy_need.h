/* Values that XLA's copy-insertion never leaves without a copy. One of them proves that the pass
 * has not run on a module.
 *
 * Constants, and entry parameters that no output takes over, are in memory that nothing may write,
 * and that the caller of the program does not take for a result. The last step of the pass
 * therefore copies each such value that shares its HloBuffer with another value, or that the entry
 * returns (CopyInsertion::AddSpecialCaseCopies in xla/service/copy_insertion.cc). No pass between
 * copy-insertion and the generation of code removes these copies again: buffer assignment would
 * otherwise give the value's memory to the other one.
 *
 * Example: the counter of nearly every loop begins as a constant. In tuple(constant, x), the
 * initial value of a while whose body adds 1 to the counter, the constant shares its memory with
 * the counter. After copy-insertion the tuple's operand is a copy of the constant.
 *
 * Only cases that are certain without a dataflow analysis are found. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_COPY_NEED_H
#define REMAT_HLO_ANALYSIS_FLOW_COPY_NEED_H

#include "ir/module.h"

/* What needs a copy, as a clause for messages; NULL = no such value was found. O(instructions). */
const char *needs_copy(const Module *module);

#endif
