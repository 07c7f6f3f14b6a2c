/* A tree of scopes, shown as rows: the largest scopes, in the way that du shows folders. */
#ifndef REMAT_HLO_CLI_SCOPE_ROWS_H
#define REMAT_HLO_CLI_SCOPE_ROWS_H

#include "remat_hlo.h"

typedef struct ScopeItem {
  rh_text path, name; /* `name` is the last part of `path` */
  uint32_t depth;
  double size;
  uint64_t count; /* number of the items in the scope */
} ScopeItem;

/* Visits one of the scopes that are shown, at level `depth` of the rows. `label` is its name,
 * followed by the names of the descendants that are merged into its row because each is an only
 * child. */
typedef void (*scope_row_fn)(void *context, size_t index, int depth, rh_text label);

/* Visits the rows for `items`, a tree in which each scope follows its parent and siblings are
 * sorted by size. About `top` scopes are shown. A chain of only children is shown as one row. */
void scope_rows_visit(const ScopeItem *items, size_t len, size_t top, scope_row_fn visit,
                      void *context);

#endif
