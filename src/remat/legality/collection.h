/* Instructions that somebody names by expressions: what checkpoint=collection keeps. */
#ifndef REMAT_HLO_REMAT_LEGALITY_COLLECTION_H
#define REMAT_HLO_REMAT_LEGALITY_COLLECTION_H

#include "ir/diag.h"
#include "ir/expression.h"
#include "ir/module.h"

typedef struct Collection {
  VEC(regex_t) expressions;
} Collection;

/* One expression a line (ir/expression.h), blank lines left out; none for NULL. RH_ERR_USAGE when
 * one is not valid; there is nothing to free then. */
rh_status collection_parse(const char *text, Collection *collection, rh_diags *diags, Arena *out);

/* Frees what regcomp took. */
void collection_free(Collection *collection);

/* Whether one of the expressions matches a part of the instruction's name, of its op_name, or of
 * its source as `file:line`; or those of what a fusion returns. O(expressions). */
bool collection_has(const Collection *collection, const Module *module, InstId id, Arena *scratch);

#endif
