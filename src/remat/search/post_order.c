#include "remat/search/post_order.h"

#include "ir/placing.h"

typedef struct Visit {
  const Line *line;
  Rows waits;
  StepId *fixed_before; /* by step, if it is fixed: the fixed one before it; NO_ID for others */
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

/* A PlacingNeedsFn: what a step waits for goes first, and then what it reads. */
static void need_before(void *context, StepId step, Placing *placing) {
  const Visit *visit = context;
  const Line *line = visit->line;
  for (uint32_t i = line->first_source[step + 1]; i-- > line->first_source[step];)
    placing_need(placing, line->sources[i]);
  for (uint32_t i = visit->waits.first[step + 1]; i-- > visit->waits.first[step];)
    placing_need(placing, visit->waits.ids[i]);
  if (visit->fixed_before[step] != NO_ID) placing_need(placing, visit->fixed_before[step]);
}

Line line_in_post_order(const Line *line, bool *has_moved, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Visit visit = {.line = line,
                 .waits = line_waits(line, arena, scratch),
                 .fixed_before = arena_array(arena, StepId, line->len)};
  find_fixed(&visit);
  Placing placing = placing_new(line->len, need_before, &visit, arena);
  /* The last step is the end, which reads what the computation returns. */
  uint32_t end = line->len ? line->first_source[line->len - 1] : 0;
  for (uint32_t i = end; i < line->first_source[line->len]; i++)
    placing_put(&placing, line->sources[i]);
  for (StepId step = 0; step < line->len; step++)
    placing_put(&placing, step);
  *has_moved = false;
  for (StepId step = 0; step < line->len; step++)
    *has_moved |= placing.order[step] != step;
  Line result = line_of_steps(line, placing.order, line->len, out, scratch);
  arena_free(arena);
  return result;
}
