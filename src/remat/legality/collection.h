/* A set of instructions that the user selects by regular expressions, for example the values that
 * checkpoint=collection keeps: `attention.*dot` selects by op_name, `model.py:12` by source line.
 */
#ifndef REMAT_HLO_REMAT_LEGALITY_COLLECTION_H
#define REMAT_HLO_REMAT_LEGALITY_COLLECTION_H

#include "ir/diag.h"
#include "ir/expression.h"
#include "ir/module.h"

typedef struct Collection {
  VEC(const regex_t *) expressions;
} Collection;

/* Compiles one expression from each line of `text` (ir/expression.h) and skips blank lines; NULL
 * gives an empty collection. It lives in `out`. RH_ERR_USAGE if an expression is not valid. */
rh_status collection_parse(const char *text, Collection *collection, rh_diags *diags, Arena *out);

/* Whether an expression matches a part of the instruction's name, of its op_name, or of its source
 * position as `file:line`, the one that is shown or the innermost one. For a fusion, the same parts
 * of the values that it returns are compared, too. O(expressions). */
bool collection_has(const Collection *collection, const Module *module, InstId id, Arena *scratch);

#endif
