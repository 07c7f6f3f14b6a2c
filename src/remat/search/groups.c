#include "remat/search/groups.h"

StepId groups_root(Groups *groups, StepId step) {
  while (groups->parent[step] != step) {
    groups->parent[step] = groups->parent[groups->parent[step]];
    step = groups->parent[step];
  }
  return step;
}

static void unite(Groups *groups, StepId step, StepId other) {
  if (!groups->is_tail[other]) return;
  StepId a = groups_root(groups, step), b = groups_root(groups, other);
  if (a < b) groups->parent[b] = a;
  if (b < a) groups->parent[a] = b;
}

Groups groups_find(const Line *line, bool *is_tail, const Rows *waits, Arena *out) {
  Groups groups = {line, is_tail, arena_array(out, uint32_t, line->len)};
  for (StepId step = 0; step < line->len; step++)
    groups.parent[step] = step;
  for (StepId step = 0; step < line->len; step++) {
    if (!is_tail[step]) continue;
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
      unite(&groups, step, line->sources[i]);
    for (uint32_t i = waits->first[step]; i < waits->first[step + 1]; i++)
      unite(&groups, step, waits->ids[i]);
  }
  return groups;
}
