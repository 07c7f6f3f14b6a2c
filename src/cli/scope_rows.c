#include "scope_rows.h"

#include <stdlib.h>

#include "memory.h"

static bool has_one_child(const ScopeItem *items, size_t len, size_t index) {
  return index + 1 < len && items[index + 1].depth == items[index].depth + 1 &&
         items[index + 1].count == items[index].count;
}

static int by_size(const void *pa, const void *pb) {
  double a = *(const double *)pa, b = *(const double *)pb;
  return (a < b) - (a > b);
}

/* Returns the minimum size of the `top` largest scopes. A chain of only children counts once. */
static double threshold_of(const ScopeItem *items, size_t len, size_t top) {
  double *sizes = memory_need(malloc((len + 1) * sizeof *sizes)), threshold = 0;
  size_t num_sizes = 0;
  for (size_t i = 0; i < len; i++) {
    if (!has_one_child(items, len, i)) sizes[num_sizes++] = items[i].size;
  }
  qsort(sizes, num_sizes, sizeof *sizes, by_size);
  if (num_sizes > top) threshold = sizes[top ? top - 1 : 0];
  free(sizes);
  return threshold;
}

void scope_rows_visit(const ScopeItem *items, size_t len, size_t top, scope_row_fn visit,
                      void *context) {
  enum { MAX_DEPTH = 64 };
  double threshold = threshold_of(items, len, top);
  int depth_of[MAX_DEPTH] = {0}; /* level of a child's row, by the depth of its parent */
  size_t num_rows = 0;
  for (size_t i = 0; i < len && num_rows < 2 * top; i++) {
    if (items[i].size < threshold) continue;
    size_t first = i, skipped = items[i].path.length - items[i].name.length;
    int depth = items[i].depth ? depth_of[(items[i].depth - 1) % MAX_DEPTH] : 0;
    for (; has_one_child(items, len, i); i++)
      depth_of[items[i].depth % MAX_DEPTH] = depth + 1;
    depth_of[items[i].depth % MAX_DEPTH] = depth + 1;
    rh_text label = items[first].name;
    if (i != first) label = (rh_text){items[i].path.data + skipped, items[i].path.length - skipped};
    visit(context, first, depth, label);
    num_rows++;
  }
}
