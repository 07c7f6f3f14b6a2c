#include "remat/search/post_order.h"

typedef struct Visit {
  const Line *line;
  LineWaits waits;
  StepId *fixed_before; /* by step, if it is fixed: the fixed one before it; NO_ID for others */
  bool *is_placed;
  StepId *order;
  uint32_t len;
  IdVec stack;
  Arena *arena;
} Visit;

static void find_fixed(Visit *visit) {
  const Line *line = visit->line;
  StepId last = NO_ID;
  for (StepId step = 0; step < line->len; step++) {
    bool is_fixed = line->graph->nodes[line->nodes[step]].flags & NODE_IS_FIXED;
    visit->fixed_before[step] = is_fixed ? last : NO_ID;
    if (is_fixed) last = step;
  }
}

static void push_missing(Visit *visit, StepId step) {
  if (!visit->is_placed[step]) *vec_push(visit->arena, &visit->stack) = step;
}

/* Places a step after all that it must come after: first what it waits for, then what it reads. */
static void place(Visit *visit, StepId last) {
  const Line *line = visit->line;
  push_missing(visit, last);
  while (visit->stack.len) {
    StepId step = visit->stack.data[visit->stack.len - 1];
    uint32_t len = visit->stack.len;
    if (!visit->is_placed[step]) {
      for (uint32_t i = line->first_source[step + 1]; i-- > line->first_source[step];)
        push_missing(visit, line->sources[i]);
      for (uint32_t i = visit->waits.first[step + 1]; i-- > visit->waits.first[step];)
        push_missing(visit, visit->waits.on[i]);
      if (visit->fixed_before[step] != NO_ID) push_missing(visit, visit->fixed_before[step]);
    }
    if (visit->stack.len > len) continue;
    visit->stack.len--;
    if (visit->is_placed[step]) continue;
    visit->is_placed[step] = true;
    visit->order[visit->len++] = step;
  }
}

Line line_in_post_order(const Line *line, bool *has_moved, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Visit visit = {.line = line,
                 .waits = line_waits(line, arena, scratch),
                 .fixed_before = arena_array(arena, StepId, line->len),
                 .is_placed = arena_zarray(arena, bool, line->len),
                 .order = arena_array(arena, StepId, line->len),
                 .arena = arena};
  find_fixed(&visit);
  /* The last step is the end, which reads what the computation returns. */
  uint32_t end = line->len ? line->first_source[line->len - 1] : 0;
  for (uint32_t i = end; i < line->first_source[line->len]; i++)
    place(&visit, line->sources[i]);
  for (StepId step = 0; step < line->len; step++)
    place(&visit, step);
  *has_moved = false;
  for (StepId step = 0; step < line->len; step++)
    *has_moved |= visit.order[step] != step;
  Line result = line_reordered(line, visit.order, out, scratch);
  arena_free(arena);
  return result;
}
