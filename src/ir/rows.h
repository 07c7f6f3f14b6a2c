/* Rows of ids, one after the other in one array. */
#ifndef REMAT_HLO_IR_ROWS_H
#define REMAT_HLO_IR_ROWS_H

#include "ir/vec.h"

/* An id that belongs into a row. */
typedef struct RowItem {
  uint32_t row, id;
} RowItem;

typedef VEC(RowItem) RowItems;

/* Example: the items {1, a}, {0, b}, {1, c} make the rows [b], [a, c]; `ids` is b a c. */
typedef struct Rows {
  uint32_t *first; /* by row, one entry more: range in `ids` */
  uint32_t *ids;
} Rows;

/* Within a row, ids are in the order of the items. O(items + rows). */
Rows rows_build(const RowItems *items, uint32_t num_rows, Arena *out);

#endif
