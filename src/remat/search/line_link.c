#include "remat/search/line_link.h"

#include <math.h>

/* The form on the host that a step copies into or back from; NULL for other steps. */
static const NodeForm *host_form(const Line *line, StepId step) {
  const NodeForm *form = node_form(line->graph, line->nodes[step]);
  return form && form->is_on_host ? form : NULL;
}

static bool is_leave(const Line *line, StepId step) {
  return host_form(line, step) && !node_is_back(line->graph, line->nodes[step]);
}

static bool is_return(const Line *line, StepId step) {
  return host_form(line, step) && node_is_back(line->graph, line->nodes[step]);
}

static double later(double a, double b) {
  return a > b ? a : b;
}

/* The copies to the host of what each step computes. */
typedef struct Leaves {
  StepId *first; /* by step; NO_ID = none */
  StepId *next;  /* by step that copies: another one that copies the same */
} Leaves;

static Leaves find_leaves(const Line *line, Arena *out) {
  Leaves leaves = {arena_array(out, StepId, line->len), arena_array(out, StepId, line->len)};
  if (line->len) memset(leaves.first, 0xff, line->len * sizeof *leaves.first);
  for (StepId step = line->len; step-- > 0;) {
    if (!is_leave(line, step)) continue;
    StepId source = line->sources[line->first_source[step]];
    leaves.next[step] = leaves.first[source];
    leaves.first[source] = step;
  }
  return leaves;
}

double line_stall_seconds(const Line *line, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  ArenaMark mark = arena_mark(scratch);
  double *end = arena_zarray(scratch, double, line->len); /* by step: of its copy */
  Leaves leaves = find_leaves(line, scratch);
  double now = 0, stalls = 0, free_there = 0, free_back = 0;
  for (StepId step = 0; step < line->len; step++) {
    const NodeForm *form = host_form(line, step);
    bool is_back = is_return(line, step);
    double until = form && !is_back ? end[step] : 0;
    for (uint32_t i = line->first_source[step]; !form && i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      if (is_return(line, source)) until = later(until, end[source]);
    }
    if (until > now) {
      stalls += until - now;
      now = until;
    }
    now += graph->nodes[line->nodes[step]].seconds;
    if (is_back) end[step] = free_back = later(free_back, now) + form->back_seconds;
    for (StepId leave = leaves.first[step]; leave != NO_ID; leave = leaves.next[leave])
      end[leave] = free_there = later(free_there, now) + host_form(line, leave)->there_seconds;
  }
  arena_reset(scratch, mark);
  return stalls;
}

/* ---- longer copies ---- */

typedef struct Stretcher {
  const Line *line;
  LineMemory *memory;
  int64_t limit_bytes;
  double *begin;   /* by step: the time of all steps before it */
  StepId *reader;  /* by step that copies back, or to the host: its first reader; NO_ID = none */
  StepId *goes_to; /* by step that copies: the step after which a copy to the host now ends, or
                      before which a copy back now begins */
  uint32_t num_moved;
  Arena *arena;
} Stretcher;

static int64_t copied_bytes(const Line *line, StepId step) {
  return node_part(line->graph, host_form(line, step)->value, 0)->bytes;
}

/* Holds what a step copies to the host for longer, until the time when the copy ends. */
static void stretch_leave(Stretcher *stretcher, StepId step, double end) {
  const Line *line = stretcher->line;
  int64_t *bytes_at = stretcher->memory->bytes_at;
  int64_t bytes = copied_bytes(line, step);
  StepId source = line->sources[line->first_source[step]], at = step;
  StepId last = stretcher->memory->last_of[line->first_part[source]];
  StepId reader = stretcher->reader[step];
  while (reader != NO_ID && at + 1 < reader && stretcher->begin[at + 1] < end) {
    StepId next = at + 1;
    if (next > last && bytes_at[next] + bytes > stretcher->limit_bytes) break;
    if (next > last) bytes_at[next] += bytes;
    at = next;
  }
  stretcher->goes_to[step] = at;
  stretcher->num_moved += at != step;
}

/* Holds what a step copies back from an earlier time on, when the copy must begin. */
static void stretch_return(Stretcher *stretcher, StepId step, double start) {
  const Line *line = stretcher->line;
  int64_t *bytes_at = stretcher->memory->bytes_at;
  int64_t bytes = copied_bytes(line, step);
  StepId left = stretcher->goes_to[line->sources[line->first_source[step]]], at = step;
  while (at > left + 1 && stretcher->begin[at] > start) {
    if (bytes_at[at - 1] + bytes > stretcher->limit_bytes) break;
    bytes_at[--at] += bytes;
  }
  stretcher->goes_to[step] = at;
  stretcher->num_moved += at != step;
}

static void stretch_leaves(Stretcher *stretcher, LinkLoad *load) {
  const Line *line = stretcher->line;
  Leaves leaves = find_leaves(line, stretcher->arena);
  double free = 0;
  for (StepId step = 0; step < line->len; step++) {
    double now = stretcher->begin[step + 1];
    load->there[step] = later(free - now, 0);
    for (StepId leave = leaves.first[step]; leave != NO_ID; leave = leaves.next[leave]) {
      free = later(free, now) + host_form(line, leave)->there_seconds;
      stretch_leave(stretcher, leave, free);
    }
  }
}

static void stretch_returns(Stretcher *stretcher, LinkLoad *load) {
  const Line *line = stretcher->line;
  double busy_from = INFINITY;
  for (StepId step = line->len; step-- > 0;) {
    double now = stretcher->begin[step];
    load->back[step] = busy_from < now ? now - busy_from : 0;
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      if (!is_return(line, source) || stretcher->goes_to[source] != NO_ID) continue;
      if (stretcher->reader[source] != step) continue;
      busy_from = (busy_from < now ? busy_from : now) - host_form(line, source)->back_seconds;
      stretch_return(stretcher, source, busy_from);
    }
  }
}

/* Steps that move come right after or before the step that they go to. */
static void place_steps(const Stretcher *stretcher, StepId *order) {
  const Line *line = stretcher->line;
  StepId *first = arena_array(stretcher->arena, StepId, 2 * (size_t)line->len);
  StepId *next = arena_array(stretcher->arena, StepId, line->len);
  memset(first, 0xff, 2 * (size_t)line->len * sizeof *first);
  for (StepId step = line->len; step-- > 0;) {
    StepId to = stretcher->goes_to[step];
    if (to == NO_ID || to == step) continue;
    StepId *list = &first[2 * (size_t)to + !is_return(line, step)];
    next[step] = *list;
    *list = step;
  }
  uint32_t len = 0;
  for (StepId step = 0; step < line->len; step++) {
    StepId to = stretcher->goes_to[step];
    for (StepId back = first[2 * (size_t)step]; back != NO_ID; back = next[back])
      order[len++] = back;
    if (to == NO_ID || to == step) order[len++] = step;
    for (StepId leave = first[2 * (size_t)step + 1]; leave != NO_ID; leave = next[leave])
      order[len++] = leave;
  }
}

Line line_with_longer_copies(const Line *line, LineMemory *memory, int64_t limit_bytes,
                             LinkLoad *load, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Stretcher stretcher = {.line = line,
                         .memory = memory,
                         .limit_bytes = limit_bytes,
                         .begin = line_begin_seconds(line, arena),
                         .reader = arena_array(arena, StepId, line->len),
                         .goes_to = arena_array(arena, StepId, line->len),
                         .arena = arena};
  if (line->len) memset(stretcher.reader, 0xff, line->len * sizeof *stretcher.reader);
  if (line->len) memset(stretcher.goes_to, 0xff, line->len * sizeof *stretcher.goes_to);
  for (StepId step = line->len; step-- > 0;) {
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
      stretcher.reader[line->sources[i]] = step;
  }
  stretch_leaves(&stretcher, load);
  stretch_returns(&stretcher, load);
  Line result = *line;
  if (stretcher.num_moved) {
    StepId *order = arena_array(arena, StepId, line->len);
    place_steps(&stretcher, order);
    result = line_of_steps(line, order, line->len, out, scratch);
  }
  arena_free(arena);
  return result;
}
