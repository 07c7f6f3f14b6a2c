/* The search: the order of each computation, and what it recomputes, are decided together.
 *
 * Each computation is a graph (remat/search/graph.h); an order of its nodes in which some run more
 * than once is a line (line.h). A line is hoisted (hoist.h), priced (price.h) and trimmed (trim.h)
 * in several variants, and the best one is applied (apply.h). The memory that called computations
 * need counts where they are called; if the caller alone cannot meet the budget, they are reduced
 * themselves. */
#include "remat/job/algorithm.h"
#include "remat/job/state.h"
#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/search.h"

enum {
  MAX_ROUNDS = 3, /* searches of one computation, between which its callees are reduced */
  MAX_DEPTH = 32, /* of calls */
};

typedef struct SearchJob {
  RematJob *job;
  SearchContext context; /* of the module as it is now, in `arena` */
  int64_t *inner_bytes;  /* by CompId: what it and its callees need, as lines are measured */
  SearchRules rules;
  uint32_t num_steps;
  Arena *out, *arena, *scratch;
} SearchJob;

/* Analyses the module again after a change. */
static void analyze(SearchJob *search) {
  if (search->arena) arena_free(search->arena);
  search->arena = arena_new(arena_options(search->scratch));
  search->context = search_context_build(search->job, search->arena, search->scratch);
  search->context.inner_bytes = search->inner_bytes;
}

/* What the called computations of each computation need, in their present order; callees first. */
static void measure_inner(SearchJob *search) {
  const CallGraph *calls = &search->context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (!comp_is_sequential(calls, comp) || search->job->schedule->of[comp].len == 0) continue;
    Arena *arena = arena_new(arena_options(search->scratch));
    SearchGraph graph = search_graph_build(&search->context, comp, arena, search->scratch);
    Line line = line_of_graph(&graph, arena);
    search->inner_bytes[comp] = line_measure(&line, arena).peak_bytes;
    arena_free(arena);
  }
}

static PricedLine search_graph(SearchJob *search, const SearchGraph *graph, int64_t limit_bytes,
                               Arena *arena) {
  Line given = line_of_graph(graph, arena);
  Patience *patience = search->job->patience;
  return limit_bytes == 0
             ? search_lowest(&given, &search->rules, patience, arena, search->scratch)
             : search_line(&given, limit_bytes, &search->rules, patience, arena, search->scratch);
}

/* A computation that is to need less. */
typedef struct Callee {
  CompId comp;
  int64_t limit_bytes;
} Callee;

typedef struct Callees {
  VEC(Callee) list;
} Callees;

static void add_callee(Callees *callees, CompId comp, int64_t limit_bytes, Arena *arena) {
  for (uint32_t i = 0; i < callees->list.len; i++) {
    Callee *known = &callees->list.data[i];
    if (known->comp != comp) continue;
    if (limit_bytes < known->limit_bytes) known->limit_bytes = limit_bytes;
    return;
  }
  *vec_push(arena, &callees->list) = (Callee){comp, limit_bytes};
}

/* The called computations that run where a line exceeds the limit, and what they may need there. As
 * low as possible: where the line has its peak. */
static Callees callees_over(const SearchJob *search, const PricedLine *priced, int64_t limit_bytes,
                            Arena *arena) {
  const Line *line = &priced->line;
  const Module *module = search->job->rewrite->module;
  LineMemory memory = line_measure(line, arena);
  int64_t most_bytes = limit_bytes > 0 ? limit_bytes : memory.peak_bytes - 1;
  Callees callees = {0};
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    if (memory.bytes_at[step] <= most_bytes || node->inner_bytes == 0) continue;
    int64_t left = most_bytes - (memory.bytes_at[step] - node->inner_bytes);
    if (left < 0) left = 0;
    for (uint32_t i = 0; i < inst_get(module, node->inst)->num_callees; i++) {
      CompId comp = inst_callees(module, node->inst)[i];
      if (search->inner_bytes[comp] <= left) continue;
      add_callee(&callees, comp, limit_bytes > 0 && left > 0 ? left : 0, arena);
    }
  }
  return callees;
}

/* A computation on the way down: its callees are reduced before it is searched again. */
typedef struct Frame {
  CompId comp;
  int64_t limit_bytes;
  int round;
  Callees callees; /* to be reduced next */
  uint32_t next;   /* of them */
  bool has_gained;
  int64_t before_bytes;
  Arena *arena;
} Frame;

static Frame frame_new(const SearchJob *search, CompId comp, int64_t limit_bytes) {
  return (Frame){.comp = comp,
                 .limit_bytes = limit_bytes,
                 .before_bytes = search->inner_bytes[comp],
                 .arena = arena_new(arena_options(search->scratch))};
}

/* Searches the computation of a frame, and applies what it finds, unless its callees have to be
 * reduced first: then returns false. */
static bool search_frame(SearchJob *search, Frame *frame, bool may_go_down) {
  /* What called it may have been dead code, which went when another callee was reduced. */
  if (search->job->schedule->of[frame->comp].len == 0) return true;
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchGraph graph = search_graph_build(&search->context, frame->comp, arena, search->scratch);
  PricedLine best = search_graph(search, &graph, frame->limit_bytes, arena);
  bool is_enough = frame->limit_bytes > 0 && best.fits;
  frame->callees = (Callees){0};
  frame->next = 0;
  if (!is_enough && may_go_down && frame->round < MAX_ROUNDS)
    frame->callees = callees_over(search, &best, frame->limit_bytes, frame->arena);
  frame->round++;
  frame->has_gained = false;
  bool is_done = frame->callees.list.len == 0;
  if (is_done) {
    Applied applied = line_apply(&best.line, search->job, search->out, search->scratch);
    search->inner_bytes[frame->comp] = best.peak_bytes;
    /* Without steps the module must be as it was, dead code included. */
    if (applied.num_clones + applied.num_moved) {
      search->num_steps += applied.num_clones + applied.num_moved;
      dce_run(search->job->rewrite, search->scratch);
      dce_update_schedule(search->job->rewrite->module, search->job->schedule, search->out);
      analyze(search);
    }
  }
  arena_free(arena);
  return is_done;
}

/* Reduces a computation to a limit: itself, and where that does not suffice, what it calls. Returns
 * its peak, as lines are measured. */
static int64_t search_tree(SearchJob *search, CompId comp, int64_t limit_bytes) {
  VEC(Frame) frames = {0};
  Arena *arena = arena_new(arena_options(search->scratch));
  *vec_push(arena, &frames) = frame_new(search, comp, limit_bytes);
  while (frames.len) {
    Frame *frame = &frames.data[frames.len - 1];
    if (frame->next < frame->callees.list.len) {
      Callee callee = frame->callees.list.data[frame->next++];
      *vec_push(arena, &frames) = frame_new(search, callee.comp, callee.limit_bytes);
      continue;
    }
    /* If no callee has become smaller, they are not tried again. */
    bool may_go_down = frames.len < MAX_DEPTH && (frame->round == 0 || frame->has_gained);
    if (!search_frame(search, frame, may_go_down)) continue;
    bool has_gained = search->inner_bytes[frame->comp] < frame->before_bytes;
    arena_free(frame->arena);
    frames.len--;
    if (frames.len) frames.data[frames.len - 1].has_gained |= has_gained;
  }
  arena_free(arena);
  return search->inner_bytes[comp];
}

/* The limit for lines, whose memory is counted a little differently from that of the model: what a
 * search came to tells by how much. */
static void search_entry(SearchJob *search) {
  RematJob *job = search->job;
  CompId entry = job->rewrite->module->entry;
  Arena *arena = arena_new(arena_options(search->scratch));
  int64_t limit_bytes = job->peak_limit_bytes;
  RematState before = remat_state_save(job, arena);
  int64_t difference_bytes = remat_state_peak(job, search->scratch) - search->inner_bytes[entry];
  for (int round = 0; round < MAX_ROUNDS; round++) {
    if (round) {
      remat_state_load(job, &before);
      analyze(search);
      measure_inner(search);
      search->num_steps = 0;
    }
    int64_t line_limit = limit_bytes > 0 ? limit_bytes - difference_bytes : 0;
    if (limit_bytes > 0 && line_limit < 1) line_limit = 1;
    int64_t line_bytes = search_tree(search, entry, line_limit);
    int64_t peak_bytes = remat_state_peak(job, search->scratch);
    if (limit_bytes == 0 || peak_bytes <= limit_bytes || line_bytes > line_limit) break;
    difference_bytes = peak_bytes - line_bytes;
    if (patience_is_over(job->patience)) break;
  }
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  arena_free(arena);
}

void remat_search(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  SearchJob search = {.job = job,
                      .inner_bytes = arena_zarray(out, int64_t, job->rewrite->module->comps.len),
                      .rules = {.is_thorough = true, .keeps_order = job->options->keep_order},
                      .out = out,
                      .scratch = scratch};
  analyze(&search);
  measure_inner(&search);
  search_entry(&search);
  stats->num_steps = search.num_steps;
  arena_free(search.arena);
}
