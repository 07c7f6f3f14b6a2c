#include "remat/search/line_link.h"

/* The form on the host that a step copies into or back from; NULL for other steps. */
static const NodeForm *host_form(const Line *line, StepId step) {
  const NodeForm *form = node_form(line->graph, line->nodes[step]);
  return form && form->is_on_host ? form : NULL;
}

static double transfer(double *free, double now, double seconds) {
  *free = (*free > now ? *free : now) + seconds;
  return *free;
}

double line_stall_seconds(const Line *line, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  ArenaMark mark = arena_mark(scratch);
  double *end = arena_zarray(scratch, double, line->len);   /* by step: of its copy */
  StepId *leaves = arena_array(scratch, StepId, line->len); /* by step: the first one copying it */
  StepId *next = arena_array(scratch, StepId, line->len);   /* copying the same step */
  if (line->len) memset(leaves, 0xff, line->len * sizeof *leaves);
  for (StepId step = line->len; step-- > 0;) {
    if (!host_form(line, step) || node_is_back(graph, line->nodes[step])) continue;
    StepId source = line->sources[line->first_source[step]];
    next[step] = leaves[source];
    leaves[source] = step;
  }
  double now = 0, stalls = 0, free_there = 0, free_back = 0;
  for (StepId step = 0; step < line->len; step++) {
    const NodeForm *form = host_form(line, step);
    bool is_back = form && node_is_back(graph, line->nodes[step]);
    double until = form && !is_back ? end[step] : 0;
    for (uint32_t i = line->first_source[step]; !form && i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      if (host_form(line, source) && end[source] > until) until = end[source];
    }
    if (until > now) {
      stalls += until - now;
      now = until;
    }
    now += graph->nodes[line->nodes[step]].seconds;
    if (is_back) end[step] = transfer(&free_back, now, form->back_seconds);
    for (StepId leave = leaves[step]; leave != NO_ID; leave = next[leave])
      end[leave] = transfer(&free_there, now, host_form(line, leave)->there_seconds);
  }
  arena_reset(scratch, mark);
  return stalls;
}
