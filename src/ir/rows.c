#include "ir/rows.h"

Rows rows_build(const RowItems *items, uint32_t num_rows, Arena *out) {
  /* While they are filled, a row's next place is one entry further on than where the row begins. */
  Rows rows = {.first = arena_zarray(out, uint32_t, (size_t)num_rows + 2),
               .ids = arena_array(out, uint32_t, items->len)};
  uint32_t *next = rows.first + 1;
  for (uint32_t i = 0; i < items->len; i++)
    next[items->data[i].row + 1]++;
  for (uint32_t row = 0; row < num_rows; row++)
    next[row + 1] += next[row];
  for (uint32_t i = 0; i < items->len; i++)
    rows.ids[next[items->data[i].row]++] = items->data[i].id;
  return rows;
}
