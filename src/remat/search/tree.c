/* A computation and those that it calls, which are reduced where their caller cannot be. */
#include "remat/search/job.h"

enum { MAX_DEPTH = 32 }; /* of calls */

/* A computation that is to need less. */
typedef struct Callee {
  CompId comp;
  LineLimit limit;
} Callee;

typedef struct Callees {
  VEC(Callee) list;
} Callees;

static void add_callee(Callees *callees, CompId comp, LineLimit limit, Arena *arena) {
  for (uint32_t i = 0; i < callees->list.len; i++) {
    Callee *known = &callees->list.data[i];
    if (known->comp != comp) continue;
    if (limit.bytes < known->limit.bytes) known->limit = limit;
    return;
  }
  *vec_push(arena, &callees->list) = (Callee){comp, limit};
}

/* The called computations that run where a line exceeds the limit, and what they may need there. As
 * low as possible: where the line has its peak. */
static Callees callees_over(const SearchJob *search, const ScoredLine *scored, LineLimit limit,
                            Arena *arena) {
  const Line *line = &scored->line;
  const Module *module = search->job->rewrite->module;
  LineMemory memory = line_measure(line, arena);
  int64_t most_bytes = limit.bytes > 0 ? limit.bytes : memory.peak_bytes - 1;
  Callees callees = {0};
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    if (memory.bytes_at[step] <= most_bytes || node->inner_bytes == 0) continue;
    int64_t left = most_bytes - (memory.bytes_at[step] - node->inner_bytes);
    if (left < 0) left = 0;
    for (uint32_t i = 0; i < inst_get(module, node->inst)->num_callees; i++) {
      CompId comp = inst_callees(module, node->inst)[i];
      if (search->inner_bytes[comp] <= left) continue;
      bool is_bounded = limit.bytes > 0 && left > 0;
      add_callee(&callees, comp, (LineLimit){is_bounded ? left : 0}, arena);
    }
  }
  return callees;
}

/* A computation on the way down: its callees are reduced before it is searched again. */
typedef struct Frame {
  CompId comp;
  LineLimit limit;
  int round;
  Callees callees; /* to be reduced next */
  uint32_t next;   /* of them */
  bool has_gained;
  int64_t before_bytes;
  Arena *arena;
} Frame;

static Frame frame_new(const SearchJob *search, CompId comp, LineLimit limit) {
  return (Frame){.comp = comp,
                 .limit = limit,
                 .before_bytes = search->inner_bytes[comp],
                 .arena = arena_new(arena_options(search->scratch))};
}

/* Keeps what a line makes of the entry, in case that nothing lower is found once what it calls has
 * been reduced: that takes steps, too. */
static void keep_round(SearchJob *search, FoundLines found, Arena *arena) {
  RematJob *job = search->job;
  CompId entry = job->rewrite->module->entry;
  RematState before = remat_state_save(job, arena);
  int64_t inner_bytes = search->inner_bytes[entry];
  uint32_t num_steps = search->num_steps;
  found.len = 1;
  take_first_met(search, &found, arena);
  (void)search_job_keep(search, &search->round);
  search_job_restore(search, &before, num_steps);
  search->inner_bytes[entry] = inner_bytes;
}

/* Searches the computation of a frame, and applies what it finds, unless its callees have to be
 * reduced first: then returns false. */
static bool search_frame(SearchJob *search, Frame *frame, bool may_go_down) {
  /* What called it may have been dead code, which went when another callee was reduced. */
  if (search->job->schedule->of[frame->comp].len == 0) return true;
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchGraph graph = search_graph_build(&search->context, frame->comp, arena, search->scratch);
  line_find_copied_reads(&graph, search->scratch);
  if (search->forms)
    search_graph_add_forms(&graph, &search->context, search->forms, arena, search->scratch);
  FoundLines found = search_computation(search, &graph, frame->limit, arena);
  const ScoredLine *best = found_best(&found);
  bool is_entry = frame->comp == search->job->rewrite->module->entry;
  bool is_enough = frame->limit.bytes > 0 && best->score.is_met;
  frame->callees = (Callees){0};
  frame->next = 0;
  if (!is_enough && may_go_down && frame->round < search->job->parameters->search_callee_rounds)
    frame->callees = callees_over(search, best, frame->limit, frame->arena);
  frame->round++;
  frame->has_gained = false;
  bool is_done = frame->callees.list.len == 0;
  if (!is_done && is_entry) keep_round(search, found, arena);
  if (is_done) {
    bool has_changed = true;
    if (is_entry) {
      take_first_met(search, &found, arena);
    } else {
      has_changed = take_line(search, frame->comp, best);
    }
    if (has_changed) search_job_analyze(search);
  }
  arena_free(arena);
  return is_done;
}

void search_tree(SearchJob *search, CompId comp, LineLimit limit) {
  VEC(Frame) frames = {0};
  Arena *arena = arena_new(arena_options(search->scratch));
  *vec_push(arena, &frames) = frame_new(search, comp, limit);
  while (frames.len) {
    Frame *frame = &frames.data[frames.len - 1];
    if (frame->next < frame->callees.list.len) {
      Callee callee = frame->callees.list.data[frame->next++];
      *vec_push(arena, &frames) = frame_new(search, callee.comp, callee.limit);
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
}
