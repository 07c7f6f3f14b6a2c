/* A tree of scopes as rows: the largest, as du shows folders. */
#ifndef REMAT_HLO_CLI_SCOPE_ROWS_H
#define REMAT_HLO_CLI_SCOPE_ROWS_H

#include "remat_hlo.h"

typedef struct ScopeItem {
  rh_text path, name; /* the name is the end of the path */
  uint32_t depth;
  double size;
  uint64_t count; /* of what is in it */
} ScopeItem;

/* Visits one of the scopes that are shown, `depth` rows in. `label` is its name, with those of the
 * chain of only children behind it. */
typedef void (*scope_row_fn)(void *context, size_t index, int depth, rh_text label);

/* `items` are a tree: each behind its parent, siblings by size. About `top` are shown, chains of
 * only children as one. */
void scope_rows_visit(const ScopeItem *items, size_t len, size_t top, scope_row_fn visit,
                      void *context);

#endif
