#include "remat/search/runs.h"

Runs runs_of_line(const Line *line, Arena *out) {
  Runs runs = {.line = line,
               .first_added = arena_array(out, uint32_t, line->len),
               .sources = arena_array(out, RunId, line->first_source[line->len]),
               .is_dropped = arena_zarray(out, bool, line->len),
               .arena = out};
  runs_reset(&runs);
  return runs;
}

void runs_reset(Runs *runs) {
  const Line *line = runs->line;
  uint32_t num_sources = line->first_source[line->len];
  runs->added.len = runs->added_sources.len = 0;
  if (num_sources) memcpy(runs->sources, line->sources, num_sources * sizeof *runs->sources);
  if (line->len) memset(runs->first_added, 0xff, line->len * sizeof *runs->first_added);
}

RunId runs_add(Runs *runs, NodeId node, StepId place) {
  RunId number = runs->line->len + runs->added.len;
  *vec_push(runs->arena, &runs->added) =
      (AddedRun){node, place, runs->added_sources.len, runs->first_added[place]};
  runs->first_added[place] = runs->added.len - 1;
  (void)vec_extend(runs->arena, &runs->added_sources, runs->line->graph->nodes[node].num_operands);
  return number;
}

Line runs_build(const Runs *runs, StepId **place_of, Arena *out) {
  const Line *line = runs->line;
  uint32_t num_runs = line->len + runs->added.len, len = 0;
  StepId *step_of = arena_array(out, StepId, num_runs);
  RunId *run_of = arena_array(out, RunId, num_runs);
  *place_of = arena_array(out, StepId, num_runs);
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = runs->first_added[step]; i != NO_ID; i = runs->added.data[i].next) {
      (*place_of)[len] = step;
      run_of[len] = line->len + i;
      step_of[line->len + i] = len++;
    }
    if (runs->is_dropped[step]) continue;
    (*place_of)[len] = step;
    run_of[len] = step;
    step_of[step] = len++;
  }
  NodeId *nodes = arena_array(out, NodeId, len);
  for (StepId step = 0; step < len; step++) {
    RunId run = run_of[step];
    nodes[step] = run < line->len ? line->nodes[run] : runs->added.data[run - line->len].node;
  }
  Line result = line_new(line->graph, nodes, len, out);
  for (StepId step = 0; step < len; step++) {
    const RunId *sources = runs_sources(runs, run_of[step]);
    uint32_t first = result.first_source[step], count = result.first_source[step + 1] - first;
    for (uint32_t i = 0; i < count; i++)
      result.sources[first + i] = step_of[sources[i]];
  }
  return result;
}
