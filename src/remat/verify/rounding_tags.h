/* Rounding as a part of what is compared: each instruction whose rounding depends on the function
 * in which it is compiled has a tag, which becomes a part of its value number. Values with equal
 * numbers then have the same bits, also where a product and a sum are contracted.
 *
 * Example: a*b + c within one fusion has another number than p + c in a fusion whose parameter p is
 * the product that another fusion has computed. a*b + c*d has the same number in two fusions only
 * if these are the same function.
 *
 * Two functions are the same if they apply the same operations to their parameters, whatever the
 * order of these, and if the same of them are read from one array. The number of slices of an array
 * of which a function only reads or only writes one does not matter from three on: it is only a
 * number to which the slice's start is clamped. But where two arrays have the same, both must have
 * the same: multiply_reduce_fusion's of JAX 0.12.0.1 added up the same numbers in another order
 * when one of three stacks of 6 slices had kept them and the others had 3. */
#ifndef REMAT_HLO_REMAT_VERIFY_ROUNDING_TAGS_H
#define REMAT_HLO_REMAT_VERIFY_ROUNDING_TAGS_H

#include "analysis/flow/rounding.h"
#include "ir/text_buffer.h"
#include "remat/verify/value_number.h"

typedef struct RoundingTags {
  Rounding *of;           /* by InstId */
  CompId *function_of;    /* by CompId: the outermost computation of the function that it is a part
                              of; NO_ID = its instructions are compiled one by one */
  ValueNumber *number_of; /* by CompId: what it computes; NO_ID = no tag needs that */
} RoundingTags;

/* `target` compiles it: for XLA:TPU and XLA:GPU no number of slices matters, and XLA:GPU computes
 * nothing with excess precision. The lists are in `out`. O(size of the module). */
RoundingTags rounding_tags_make(const Module *module, const Target *target, Numbering *numbering,
                                Arena *out, Arena *scratch);

/* Appends the tag of an instruction, if it has one. */
void put_rounding(TextBuffer *text, const Module *module, const RoundingTags *tags, InstId id);

#endif
