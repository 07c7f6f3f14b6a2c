/* The search: the order of each computation, and what it recomputes, are decided together.
 *
 * Each computation is a graph (remat/search/graph.h); an order of its nodes in which some run more
 * than once is a line (line.h). A line is hoisted (hoist.h), priced (price.h) and trimmed (trim.h)
 * in several variants, and the best one is applied (apply.h). The memory that called computations
 * need counts where they are called; if the caller alone cannot meet the budget, they are reduced
 * themselves.
 *
 * Where values may be kept in other forms (compressed, narrowed, on the host), the copies are
 * priced as recomputations are (forms.h). Besides, XLA's pass chooses some that free a part of what
 * is missing, and the search goes on from there: once for the whole, once for a half. The best of
 * these and of the search alone is taken. */
#include "remat/job/algorithm.h"
#include "remat/job/state.h"
#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/forms.h"
#include "remat/search/hoist.h"
#include "remat/search/search.h"

enum {
  MAX_ROUNDS = 3,       /* searches of one computation, between which its callees are reduced */
  MAX_DEPTH = 32,       /* of calls */
  MAX_LIMITS = 8,       /* for lines of the entry, until one meets the budget */
  FEW_LIMITS = 4,       /* when one does, for another one that costs less */
  LEAST_GAP = 100,      /* between limits, as a part of the budget */
  MEASURING_STEPS = 50, /* for each instruction, to measure the module */
  SHORT_PART = 8,       /* of the steps, for a short search */
  EXCESS_COST = 3,      /* times as much of the time, for a part of the budget that is exceeded */
  LEAST_ROOM = 200,     /* below the budget, as a part of it, that is worth a look */
  MOST_REORDERED = 2,   /* lines that are tried in other orders, since packing wastes memory */
  MOST_LOWERED = 4,     /* lines that are lowered until packing lets one meet the budget */
  LEAST_STEPS = 400,    /* for each instruction, for another search of the entry */
};

/* What a line of the entry came to. */
typedef struct Figures {
  int64_t line_bytes, line_peak_bytes; /* of the line that was best before packing counted: as lines
                                          are measured, and by the model of the job */
  int64_t peak_bytes;                  /* of the line that was taken, by the model */
  double seconds;                      /* of that line */
  bool is_free;                        /* it recomputes nothing */
} Figures;

/* What a search of the entry has come to under one limit for lines. */
typedef struct Result {
  bool is_met;
  Figures figures;
  uint32_t num_steps;
  RematState state;
  Arena *arena; /* of the state */
} Result;

static bool is_better(const Result *a, const Result *b) {
  if (a->is_met != b->is_met) return a->is_met;
  if (!a->is_met && a->figures.peak_bytes != b->figures.peak_bytes)
    return a->figures.peak_bytes < b->figures.peak_bytes;
  return a->figures.seconds < b->figures.seconds;
}

/* Lines of a graph that is gone. */
typedef struct KnownLines {
  OtherLines lines;
  const SearchNode *nodes; /* of the graph */
  uint32_t num_nodes;
  Arena *arena; /* NULL = there are none */
} KnownLines;

typedef struct SearchJob {
  RematJob *job;
  SearchContext context; /* of the module as it is now, in `arena` */
  int64_t *inner_bytes;  /* by CompId: what it and its callees need, as lines are measured */
  uint32_t num_comps;    /* of the module, when it was analysed last */
  SearchRules rules;
  bool holds_lent;      /* lines take the memory that parameters leave free as held */
  CompactShapes *forms; /* other forms that prices decide about; NULL = about none */
  uint32_t num_steps;
  uint32_t num_changed; /* values that are kept in other forms */
  CompId unmet_comp;    /* a computation for which no line without repeated loops met a limit, */
  int64_t unmet_bytes;  /* and that limit */
  Figures entry;        /* the last time that a line was applied to it */
  /* The best line of the entry before what it calls was reduced; its arena is NULL if there is
   * none. */
  Result round;
  KnownLines found;         /* by the last search of the entry */
  const KnownLines *known;  /* by one with a limit nearby; NULL = by none */
  int64_t difference_bytes; /* by which the model counts more than lines do, in the order given */
  Arena *out, *arena, *scratch;
} SearchJob;

/* Analyses the module again after a change, and measures the computations that are new. */
static void analyze(SearchJob *search) {
  if (search->arena) arena_free(search->arena);
  search->arena = arena_new(arena_options(search->scratch));
  search->context = search_context_build(search->job, search->arena, search->scratch);
  search->context.holds_lent = search->holds_lent;
  uint32_t num_comps = search->job->rewrite->module->comps.len, num_known = search->num_comps;
  if (num_comps > num_known) { /* a loop that runs again has computations of its own */
    int64_t *known = search->inner_bytes;
    search->inner_bytes = arena_zarray(search->out, int64_t, num_comps);
    if (num_known) memcpy(search->inner_bytes, known, num_known * sizeof *known);
  }
  search->num_comps = num_comps;
  search->context.inner_bytes = search->inner_bytes;
  search_measure_callees(&search->context, search->inner_bytes, num_known, search->scratch);
}

/* A computation, and how it is to be searched. */
typedef struct Task {
  const Line *given;
  const SearchGraph *graph;   /* of that line */
  const SearchGraph *without; /* the same one, in which no loop runs again; or itself */
  const OtherLines *known;    /* lines of it that were found for a limit nearby; or NULL */
  int64_t limit_bytes;
} Task;

/* Searches in one of the graphs of a task. */
static PricedLine search_in(SearchJob *search, const Task *task, const SearchGraph *graph,
                            bool is_thorough, Patience *patience, OtherLines *others,
                            Arena *arena) {
  SearchRules rules = search->rules;
  rules.is_thorough = is_thorough;
  rules.known = task->known;
  Line line = *task->given;
  line.graph = graph;
  PricedLine found =
      search_line(&line, task->limit_bytes, &rules, patience, others, arena, search->scratch);
  found.line.graph = task->graph;
  for (uint32_t i = 0; i < others->len; i++)
    others->list[i].line.graph = task->graph;
  return found;
}

/* Searches without repeating loops first, if any can be repeated, with half of the steps: loops are
 * large pieces, which prices choose too early. If that meets the limit, to repeat them is worth
 * more than a short search only if that finds something faster. */
static PricedLine search_both(SearchJob *search, const Task *task, Patience *patience,
                              OtherLines *others, Arena *arena) {
  CompId comp = task->graph->comp;
  bool is_known = task->without == task->graph ||
                  (search->unmet_comp == comp && task->limit_bytes <= search->unmet_bytes);
  if (is_known) return search_in(search, task, task->graph, true, patience, others, arena);
  Patience half = patience_part(patience, patience_steps_left(patience) / 2);
  PricedLine best = search_in(search, task, task->without, true, &half, others, arena);
  patience_join(patience, &half);
  OtherLines also = {0};
  if (best.fits) {
    PricedLine quick = search_in(search, task, task->graph, false, patience, &also, arena);
    if (!priced_is_better(&quick, &best)) return best;
  } else {
    search->unmet_comp = comp;
    search->unmet_bytes = task->limit_bytes;
  }
  PricedLine found = search_in(search, task, task->graph, true, patience, &also, arena);
  if (!priced_is_better(&found, &best)) return best;
  *others = also;
  return found;
}

/* As search_lowest(), and at first without repeating loops, if any can be repeated, with half of
 * the steps: what does not lower the peak further is to take no time. */
static PricedLine search_lowest_both(SearchJob *search, const Task *task, const PricedLine *known,
                                     Patience *patience, OtherLines *others, Arena *arena) {
  PricedLine simple;
  if (task->without != task->graph) {
    Line line = *task->given;
    line.graph = task->without;
    Patience half = patience_part(patience, patience_steps_left(patience) / 2);
    simple = search_lowest(&line, task->limit_bytes, NULL, &search->rules, &half, NULL, arena,
                           search->scratch);
    simple.line.graph = task->graph;
    patience_join(patience, &half);
    if (!known || priced_is_lower(&simple, known)) known = &simple;
  }
  return search_lowest(task->given, task->limit_bytes, known, &search->rules, patience, others,
                       arena, search->scratch);
}

/* The lines that are known of a graph. Where loops can run again, lines with and without that are
 * searched one after the other, and none is known. */
static const OtherLines *lines_known(const SearchJob *search, const SearchGraph *graph,
                                     const SearchGraph *without) {
  const KnownLines *known = search->known;
  if (!known || !known->arena || without != graph || known->num_nodes != graph->num_nodes)
    return NULL;
  for (NodeId i = 0; i < graph->num_nodes; i++) {
    const SearchNode *a = &known->nodes[i], *b = &graph->nodes[i];
    if (a->inst != b->inst || a->num_parts != b->num_parts || a->num_operands != b->num_operands)
      return NULL;
  }
  return &known->lines;
}

/* Searches one computation with three quarters of the steps that are left, so that there always are
 * some for what follows: other computations, and searches with another limit. If no line fits, the
 * last of them go to the lowest peak. */
static PricedLine search_graph(SearchJob *search, const SearchGraph *graph, int64_t limit_bytes,
                               OtherLines *others, Arena *arena) {
  Patience *patience = search->job->patience;
  Patience own = patience_part(patience, patience_steps_left(patience) / 4 * 3);
  Line given = line_of_graph(graph, arena);
  Task task = {.given = &given,
               .graph = graph,
               .without = search_graph_without_loops(graph, arena),
               .limit_bytes = limit_bytes};
  if (graph->comp == search->job->rewrite->module->entry)
    task.known = lines_known(search, graph, task.without);
  PricedLine found = {0};
  if (limit_bytes > 0) {
    Patience most = patience_part(&own, patience_steps_left(&own) / 4 * 3);
    found = search_both(search, &task, &most, others, arena);
    patience_join(&own, &most);
  }
  if (!found.fits) {
    OtherLines also = {0};
    const PricedLine *known = limit_bytes > 0 ? &found : NULL;
    PricedLine lower = search_lowest_both(search, &task, known, &own, &also, arena);
    if (!known || lower.peak_bytes < found.peak_bytes) {
      found = lower;
      *others = also;
    }
    found.fits = limit_bytes > 0 && found.peak_bytes <= limit_bytes;
  }
  patience_join(patience, &own);
  return found;
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

/* Rewrites a computation as a line says. */
static void apply(SearchJob *search, CompId comp, const PricedLine *priced) {
  RematJob *job = search->job;
  Applied applied = line_apply(&priced->line, job, search->out, search->scratch);
  search->inner_bytes[comp] = priced->peak_bytes;
  /* Without steps the module must be as it was, dead code included. */
  uint32_t num_steps = applied.num_clones + applied.num_forms + applied.num_moved;
  if (num_steps == 0) return;
  search->num_steps += num_steps;
  dce_run(job->rewrite, search->scratch);
  dce_update_schedule(job->rewrite->module, job->schedule, search->out);
}

/* Lines of the entry that are applied one after the other and measured by the model of the job,
 * packing included, until one meets the budget. */
typedef struct Taking {
  SearchJob *search;
  RematState before;
  uint32_t num_steps; /* of the search, before any line was applied */
  uint64_t price;     /* of a measurement, in steps */
  const PricedLine *last, *best;
  int64_t last_bytes, best_bytes; /* of these lines, by the model */
} Taking;

static bool is_met(const Taking *taking, int64_t bytes) {
  return bytes <= taking->search->job->peak_limit_bytes;
}

static void take(Taking *taking, const PricedLine *line) {
  SearchJob *search = taking->search;
  if (taking->last) {
    remat_state_load(search->job, &taking->before);
    search->num_steps = taking->num_steps;
  }
  apply(search, search->job->rewrite->module->entry, line);
  taking->last = line;
  taking->last_bytes = remat_state_peak(search->job, search->scratch);
  bool is_better =
      !taking->best || taking->last_bytes < taking->best_bytes ||
      (taking->last_bytes == taking->best_bytes && line->seconds < taking->best->seconds);
  if (taking->best && is_met(taking, taking->best_bytes))
    is_better = is_met(taking, taking->last_bytes) && line->seconds < taking->best->seconds;
  if (!is_better) return;
  taking->best = line;
  taking->best_bytes = taking->last_bytes;
}

/* Whether there are steps to measure another line. */
static bool may_take(const Taking *taking) {
  return patience_spend(taking->search->job->patience, taking->price);
}

/* A line that was taken, and what it needs by the model. */
typedef struct Taken {
  const PricedLine *line;
  int64_t bytes;
} Taken;

/* Takes a line with its steps in other orders, which cost the same: packing may waste less where
 * less is live than has to be. Stops at one that meets the budget. The line becomes the one of them
 * that needs least. */
static void take_reordered(Taking *taking, Taken *taken, Arena *arena) {
  static const struct {
    double share; /* of the peak, that steps are hoisted to */
    HoistRules rules;
  } orders[] = {{0.97, {true, true, true, 2}},
                {0.97, {true, false, true, 2}},
                {0.94, {true, true, true, 2}},
                {0.94, {true, false, true, 2}}};
  SearchJob *search = taking->search;
  const PricedLine *given = taken->line;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    int64_t limit_bytes = (int64_t)((double)given->peak_bytes * orders[i].share);
    Line line = hoist(&given->line, limit_bytes, &orders[i].rules, search->job->patience, arena,
                      search->scratch);
    if (line_equals(&line, &taken->line->line)) continue;
    if (!may_take(taking)) break;
    PricedLine *reordered = arena_alloc(arena, sizeof *reordered);
    *reordered = priced_measure(&line, given->peak_bytes, search->scratch);
    take(taking, reordered);
    if (taking->last_bytes < taken->bytes) *taken = (Taken){reordered, taking->last_bytes};
    if (is_met(taking, taking->last_bytes)) break;
  }
}

/* Lowers a line that was taken, further and further, as long as that does not meet the budget. */
static void take_lowered(Taking *taking, Taken taken, Arena *arena) {
  static const double factors[] = {0.25, 0.5, 1, 2, 4}; /* of what is missing */
  SearchJob *search = taking->search;
  RematJob *job = search->job;
  const PricedLine *line = taken.line;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && may_take(taking); i++) {
    double missing = factors[i] * (double)(taken.bytes - job->peak_limit_bytes);
    int64_t limit_bytes = line->peak_bytes - (int64_t)missing;
    PricedLine *lowered = arena_alloc(arena, sizeof *lowered);
    if (limit_bytes <= 0) break;
    *lowered =
        search_lowered(line, limit_bytes, &search->rules, job->patience, arena, search->scratch);
    bool is_worse = is_met(taking, taking->best_bytes) && lowered->seconds > taking->best->seconds;
    if (lowered->peak_bytes >= line->peak_bytes || is_worse) break;
    take(taking, lowered);
    if (is_met(taking, taking->last_bytes)) break;
  }
}

/* Takes back what a line that meets the budget recomputes, as far as the model leaves room: it
 * needs less than the line seems to where values use the free memory of parameters. */
static void take_raised(Taking *taking, Arena *arena) {
  static const double factors[] = {1, 0.5, 0.25}; /* of the room */
  SearchJob *search = taking->search;
  RematJob *job = search->job;
  const PricedLine *line = taking->best;
  int64_t room = job->peak_limit_bytes - taking->best_bytes;
  if (room <= job->peak_limit_bytes / LEAST_ROOM) return;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && may_take(taking); i++) {
    int64_t limit_bytes = line->peak_bytes + (int64_t)(factors[i] * (double)room);
    PricedLine *raised = arena_alloc(arena, sizeof *raised);
    *raised =
        search_lowered(line, limit_bytes, &search->rules, job->patience, arena, search->scratch);
    if (raised->seconds >= line->seconds) break;
    take(taking, raised);
    if (is_met(taking, taking->last_bytes)) break;
  }
}

/* Rewrites the entry as the first line says that meets the budget by the model of the job; or, if
 * none does, as the one with the lowest peak. The other lines are not looked at where packing
 * wastes no more than in the order given. */
static void apply_first_met(SearchJob *search, const PricedLine *best, const OtherLines *others,
                            Arena *arena) {
  RematJob *job = search->job;
  Taking taking = {.search = search,
                   .before = remat_state_save(job, arena),
                   .num_steps = search->num_steps,
                   .price = (uint64_t)job->rewrite->module->insts.len * MEASURING_STEPS};
  Taken taken[MAX_OTHERS + 1];
  uint32_t num_taken = 0;
  take(&taking, best);
  int64_t first_bytes = taking.last_bytes;
  taken[num_taken++] = (Taken){best, first_bytes};
  bool is_wasted = first_bytes - best->peak_bytes > search->difference_bytes;
  for (uint32_t i = 0; is_wasted && i < others->len; i++) {
    if (is_met(&taking, taking.last_bytes) || !may_take(&taking)) break;
    take(&taking, &others->list[i]);
    taken[num_taken++] = (Taken){&others->list[i], taking.last_bytes};
  }
  bool may_move = is_wasted && !search->rules.keeps_order;
  for (uint32_t i = 0; may_move && i < num_taken && i < MOST_REORDERED; i++) {
    if (is_met(&taking, taking.best_bytes) && taken[i].line->seconds >= taking.best->seconds) break;
    take_reordered(&taking, &taken[i], arena);
  }
  bool is_to_lower = best->fits && !is_met(&taking, taking.best_bytes);
  for (uint32_t i = 0; is_to_lower && i < num_taken && i < MOST_LOWERED; i++)
    take_lowered(&taking, taken[i], arena);
  if (is_met(&taking, taking.best_bytes)) take_raised(&taking, arena);
  if (taking.last != taking.best) take(&taking, taking.best);
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  Line given = line_of_graph(best->line.graph, arena);
  double given_seconds = priced_measure(&given, 0, search->scratch).seconds;
  search->entry = (Figures){.line_bytes = best->peak_bytes,
                            .line_peak_bytes = first_bytes,
                            .peak_bytes = taking.best_bytes,
                            .seconds = taking.best->seconds,
                            .is_free = priced_is_free(taking.best, given_seconds)};
}

/* What the line that was applied last has come to, without the state. */
static Result result_of(const SearchJob *search) {
  return (Result){.is_met = search->entry.peak_bytes <= search->job->peak_limit_bytes,
                  .figures = search->entry,
                  .num_steps = search->num_steps};
}

/* By how much the model of the job counts more than lines do, in the order that there is. */
static int64_t difference_of(const SearchJob *search) {
  return remat_state_peak(search->job, search->scratch) -
         search->inner_bytes[search->job->rewrite->module->entry];
}

/* Makes the module what it was. The schedule no longer depends on the state's memory. */
static void restore(SearchJob *search, const RematState *state, uint32_t num_steps) {
  RematJob *job = search->job;
  remat_state_load(job, state);
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  search->num_steps = num_steps;
}

/* Keeps what a line makes of the entry, in case that nothing lower is found once what it calls has
 * been reduced: that takes steps, too. */
static void keep_round(SearchJob *search, const PricedLine *best, Arena *arena) {
  RematJob *job = search->job;
  CompId entry = job->rewrite->module->entry;
  RematState before = remat_state_save(job, arena);
  int64_t inner_bytes = search->inner_bytes[entry];
  uint32_t num_steps = search->num_steps;
  OtherLines none = {0};
  apply_first_met(search, best, &none, arena);
  Result result = result_of(search);
  if (!search->round.arena || is_better(&result, &search->round)) {
    if (search->round.arena) arena_free(search->round.arena);
    result.arena = arena_new(arena_options(search->scratch));
    result.state = remat_state_save(job, result.arena);
    search->round = result;
  }
  restore(search, &before, num_steps);
  search->inner_bytes[entry] = inner_bytes;
}

/* Notes what a search of the entry has found, for one with a limit nearby. */
static void note_found(SearchJob *search, const PricedLine *best, const OtherLines *others) {
  const SearchGraph *graph = best->line.graph;
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchNode *nodes = arena_array(arena, SearchNode, graph->num_nodes);
  memcpy(nodes, graph->nodes, graph->num_nodes * sizeof *nodes);
  OtherLines lines = {.list[0] = *best, .len = 1};
  for (uint32_t i = 0; i < others->len && lines.len < MAX_OTHERS; i++)
    lines.list[lines.len++] = others->list[i];
  for (uint32_t i = 0; i < lines.len; i++)
    lines.list[i].line = line_copy(&lines.list[i].line, arena);
  if (search->found.arena) arena_free(search->found.arena);
  search->found = (KnownLines){lines, nodes, graph->num_nodes, arena};
}

/* Searches the computation of a frame, and applies what it finds, unless its callees have to be
 * reduced first: then returns false. */
static bool search_frame(SearchJob *search, Frame *frame, bool may_go_down) {
  /* What called it may have been dead code, which went when another callee was reduced. */
  if (search->job->schedule->of[frame->comp].len == 0) return true;
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchGraph graph = search_graph_build(&search->context, frame->comp, arena, search->scratch);
  if (search->forms)
    search_graph_add_forms(&graph, &search->context, search->forms, arena, search->scratch);
  OtherLines others = {0};
  PricedLine best = search_graph(search, &graph, frame->limit_bytes, &others, arena);
  bool is_entry = frame->comp == search->job->rewrite->module->entry;
  if (is_entry) note_found(search, &best, &others);
  bool is_enough = frame->limit_bytes > 0 && best.fits;
  frame->callees = (Callees){0};
  frame->next = 0;
  if (!is_enough && may_go_down && frame->round < MAX_ROUNDS)
    frame->callees = callees_over(search, &best, frame->limit_bytes, frame->arena);
  frame->round++;
  frame->has_gained = false;
  bool is_done = frame->callees.list.len == 0;
  if (!is_done && is_entry) keep_round(search, &best, arena);
  if (is_done) {
    if (is_entry) {
      apply_first_met(search, &best, &others, arena);
    } else {
      apply(search, frame->comp, &best);
    }
    analyze(search);
  }
  arena_free(arena);
  return is_done;
}

/* Reduces a computation to a limit: itself, and where that does not suffice, what it calls. */
static void search_tree(SearchJob *search, CompId comp, int64_t limit_bytes) {
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
}

/* The searches of the entry, each of which begins from the module as it was given. */
typedef struct Entry {
  SearchJob *search;
  RematState before;
  Result best, last;
  uint32_t num_results;
  bool best_is_last;
  bool is_fresh; /* the module is as it was given */
} Entry;

/* Keeps the best result from what is done to the module next. */
static void keep_best(Entry *entry) {
  if (entry->best_is_last)
    entry->best.state = remat_state_save(entry->search->job, entry->best.arena);
  entry->best_is_last = false;
}

/* Goes back to the module as it was given. */
static void begin_again(Entry *entry) {
  SearchJob *search = entry->search;
  keep_best(entry);
  remat_state_load(search->job, &entry->before);
  search->num_comps = 0;
  analyze(search);
  search->num_steps = 0;
  entry->is_fresh = true;
}

static void search_entry_once(Entry *entry, int64_t line_limit) {
  SearchJob *search = entry->search;
  RematJob *job = search->job;
  if (!entry->is_fresh) begin_again(entry);
  entry->is_fresh = false;
  search_tree(search, job->rewrite->module->entry, line_limit);
  Result result = result_of(search);
  if (search->round.arena && is_better(&search->round, &result)) {
    result = search->round;
    restore(search, &result.state, result.num_steps);
    search->entry = result.figures;
  }
  if (search->round.arena) arena_free(search->round.arena);
  search->round.arena = NULL;
  result.arena = arena_new(arena_options(search->scratch));
  entry->last = result;
  entry->best_is_last = entry->num_results++ == 0 || is_better(&result, &entry->best);
  if (!entry->best_is_last) {
    arena_free(result.arena);
    return;
  }
  if (entry->num_results > 1) arena_free(entry->best.arena);
  entry->best = result;
}

/* Searches under a limit that is near the one before. */
static void search_entry_near(Entry *entry, int64_t line_limit) {
  SearchJob *search = entry->search;
  KnownLines known = search->found;
  search->found.arena = NULL;
  search->known = &known;
  search_entry_once(entry, line_limit);
  search->known = NULL;
  if (known.arena) arena_free(known.arena);
}

/* Whether the steps that are left are worth another search. */
static bool may_go_on(const SearchJob *search) {
  const Patience *patience = search->job->patience;
  uint64_t least = (uint64_t)search->job->rewrite->module->insts.len * LEAST_STEPS;
  return !patience_is_over(patience) && patience_steps_left(patience) >= least;
}

/* The limit for the next line. Packing and sharing make the model's peak differ from that of lines,
 * and not by the same everywhere: after the first correction, by the excess, the limit falls faster
 * and faster, since a line that keeps the same large values has the same peak. Between a limit that
 * was too high and one that was low enough it goes half the way. 0 = there is none. */
static int64_t next_limit(const Figures *last, int64_t limit_bytes, int64_t *too_high,
                          int64_t *low_enough, int *num_failed) {
  if (last->line_peak_bytes <= limit_bytes) {
    if (last->line_bytes > *low_enough) *low_enough = last->line_bytes;
  } else {
    if (last->line_bytes < *too_high) *too_high = last->line_bytes;
    ++*num_failed;
  }
  if (*low_enough > 0) {
    int64_t gap = *too_high - *low_enough;
    return gap > limit_bytes / LEAST_GAP ? *low_enough + gap / 2 : 0;
  }
  int64_t fall = last->line_peak_bytes - limit_bytes;
  for (int i = 1; i < *num_failed && fall < limit_bytes; i++)
    fall *= 4;
  return *too_high > fall ? *too_high - fall : 0;
}

/* Lowers the limit for lines until the best one meets the budget, and as long as that gains. */
static void correct_limit(Entry *entry, int64_t line_limit) {
  int64_t limit_bytes = entry->search->job->peak_limit_bytes;
  int64_t too_high = INT64_MAX, low_enough = 0;
  int num_failed = 0;
  for (int i = 1; i < (entry->best.is_met ? FEW_LIMITS : MAX_LIMITS); i++) {
    bool has_reached = entry->last.figures.line_bytes <= line_limit;
    if (!has_reached || !may_go_on(entry->search)) break;
    line_limit = next_limit(&entry->last.figures, limit_bytes, &too_high, &low_enough, &num_failed);
    if (line_limit == 0) break;
    search_entry_near(entry, line_limit);
    if (entry->best.is_met && !entry->best_is_last) break; /* it has gained nothing */
  }
}

/* Packing may need less for a line that needs more, if it wastes more than in the order given. */
static void raise_limit(Entry *entry) {
  static const double factors[] = {1.02, 1.05, 1.1, 1.2};
  int64_t lowest = entry->last.figures.line_bytes, last = 0;
  if (entry->last.figures.line_peak_bytes - lowest <= entry->search->difference_bytes) return;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    if (entry->best.is_met || !may_go_on(entry->search)) break;
    if (last == entry->last.figures.line_bytes) break; /* the limit does not matter any more */
    last = entry->last.figures.line_bytes;
    search_entry_near(entry, (int64_t)((double)lowest * factors[i]));
  }
}

/* Where packing wastes less for the line that was found than in the order given, or values use the
 * free memory of parameters, one that needs more may meet the budget, too, and cost less. */
static void try_higher_limits(Entry *entry, int64_t line_limit) {
  static const double factors[] = {1.01, 1.03};
  const RematJob *job = entry->search->job;
  bool may_gain = job->memory_model->traits & RH_TRAIT_PACKS && !entry->best.figures.is_free;
  if (!may_gain) return;
  uint64_t least = patience_steps_left(job->patience) / 2;
  int64_t room = job->peak_limit_bytes - entry->last.figures.line_peak_bytes;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++, room /= 2) {
    bool is_quick = patience_steps_left(job->patience) > least;
    if (!entry->best.is_met || !is_quick || !may_go_on(entry->search)) break;
    int64_t more = (int64_t)((double)line_limit * (factors[i] - 1));
    search_entry_near(entry, line_limit + (more > room ? more : room));
  }
}

static int64_t line_limit_of(const SearchJob *search) {
  int64_t line_limit = search->job->peak_limit_bytes - search->difference_bytes;
  return line_limit < 1 ? 1 : line_limit;
}

/* Searches with a small part of the steps. Returns the limit for a long search: higher by what the
 * model leaves below the budget. */
static int64_t search_shortly(Entry *entry, int64_t line_limit) {
  SearchJob *search = entry->search;
  Patience *whole = search->job->patience;
  Patience part = patience_part(whole, patience_steps_left(whole) / SHORT_PART);
  search->job->patience = &part;
  search->rules.is_thorough = false;
  search_entry_once(entry, line_limit);
  search->rules.is_thorough = true;
  search->job->patience = whole;
  patience_join(whole, &part);
  int64_t room = search->job->peak_limit_bytes - entry->last.figures.line_peak_bytes;
  return room > 0 ? line_limit + room : line_limit;
}

/* Searches under several limits for lines if the first one does not do. If none does, what is left
 * of the steps goes to the lowest peak. */
static void search_limits(Entry *entry, int64_t line_limit) {
  int64_t limit_bytes = entry->search->job->peak_limit_bytes;
  search_entry_once(entry, line_limit);
  if (limit_bytes > 0 && entry->last.figures.line_peak_bytes > limit_bytes)
    correct_limit(entry, line_limit);
  if (limit_bytes > 0 && entry->best.is_met) try_higher_limits(entry, line_limit);
  if (!entry->best.is_met) raise_limit(entry);
  if (!entry->best.is_met && limit_bytes > 0 && may_go_on(entry->search))
    search_entry_once(entry, 0);
}

/* A way to take the memory that parameters leave free, and the limit for lines that goes with it.
 */
typedef struct Lending {
  bool is_held;
  int64_t line_limit;
} Lending;

static void set_lending(Entry *entry, bool is_held) {
  SearchJob *search = entry->search;
  if (search->holds_lent != is_held || !entry->is_fresh) {
    search->holds_lent = is_held;
    begin_again(entry);
  }
  /* What values save by free memory depends on the order. */
  search->difference_bytes = is_held ? 0 : difference_of(search);
}

static Lending try_lending(Entry *entry, bool is_held) {
  set_lending(entry, is_held);
  return (Lending){is_held, search_shortly(entry, line_limit_of(entry->search))};
}

/* What a short search promises, as a time: to free what exceeds the budget costs something, too. */
static double promise_of(const Result *result, int64_t limit_bytes) {
  double excess = (double)(result->figures.peak_bytes - limit_bytes) / (double)limit_bytes;
  return result->figures.seconds * (1 + (excess > 0 ? EXCESS_COST * excess : 0));
}

/* Where memory is packed, one value at a time can use what a parameter leaves free before a result
 * takes it. Lines take that as held, or as free. Neither is exact: what a short search says is
 * nearer to the model gets most of the steps, and the other one the rest. */
static void search_lent(Entry *entry) {
  SearchJob *search = entry->search;
  Lending first = try_lending(entry, true);
  double when_held = promise_of(&entry->last, search->job->peak_limit_bytes);
  Lending other = try_lending(entry, false);
  if (promise_of(&entry->last, search->job->peak_limit_bytes) < when_held) {
    Lending swapped = first;
    first = other;
    other = swapped;
  }
  Patience *whole = search->job->patience;
  Patience most = patience_part(whole, patience_steps_left(whole) / 4 * 3);
  search->job->patience = &most;
  set_lending(entry, first.is_held);
  search_limits(entry, first.line_limit);
  search->job->patience = whole;
  patience_join(whole, &most);
  if (!may_go_on(search)) return;
  set_lending(entry, other.is_held);
  search_limits(entry, other.line_limit);
}

/* Searches the entry for what costs least under the budget, or else for the lowest peak. */
static void search_entry(SearchJob *search) {
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  Entry entry = {.search = search, .before = remat_state_save(job, arena), .is_fresh = true};
  search->difference_bytes = difference_of(search);
  bool packs = job->memory_model->traits & RH_TRAIT_PACKS;
  if (packs && job->peak_limit_bytes > 0 && search->difference_bytes < 0) {
    search_lent(&entry);
  } else {
    search_limits(&entry, job->peak_limit_bytes > 0 ? line_limit_of(search) : 0);
  }
  if (entry.best_is_last) {
    *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  } else {
    restore(search, &entry.best.state, entry.best.num_steps);
  }
  arena_free(entry.best.arena);
  arena_free(arena);
}

/* Searches from the module as it is now. */
static void search_module(SearchJob *search) {
  search->num_steps = 0;
  search->num_comps = 0;
  search->holds_lent = search->job->memory_model->traits & RH_TRAIT_PACKS;
  analyze(search);
  search_entry(search);
}

/* ---- other forms ---- */

/* What a search has come to, with some values in other forms or none. */
typedef struct Outcome {
  bool is_met;
  int64_t peak_bytes;
  double seconds; /* modelled, of the module */
  uint32_t num_steps;
  RematState state;
  Arena *arena; /* of the state */
} Outcome;

static Outcome outcome_of(const SearchJob *search) {
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  Outcome outcome = {.peak_bytes = remat_state_peak(job, search->scratch),
                     .num_steps = search->num_steps,
                     .state = remat_state_save(job, arena),
                     .arena = arena};
  outcome.seconds = remat_state_seconds(job, search->scratch);
  outcome.is_met = outcome.peak_bytes <= job->peak_limit_bytes;
  return outcome;
}

static bool is_better_outcome(const Outcome *a, const Outcome *b) {
  if (a->is_met != b->is_met) return a->is_met;
  if (!a->is_met && a->peak_bytes != b->peak_bytes) return a->peak_bytes < b->peak_bytes;
  return a->seconds < b->seconds;
}

static void search_with_patience(SearchJob *search, Patience *patience) {
  Patience *whole = search->job->patience;
  search->job->patience = patience;
  search_module(search);
  search->job->patience = whole;
}

/* Searches with a part of the steps that are left. */
static void search_with_part(SearchJob *search, uint64_t divisor) {
  Patience *whole = search->job->patience;
  Patience part = patience_part(whole, patience_steps_left(whole) / divisor);
  search_with_patience(search, &part);
  patience_join(whole, &part);
}

/* Keeps values in other forms until the peak is at most `peak_bytes`. Returns whether there are
 * any. */
static bool change_forms(SearchJob *search, int64_t peak_bytes) {
  RematJob forms = *search->job;
  RematStats stats = {0};
  forms.modes &= ~(unsigned)RH_REMAT_RECOMPUTE;
  forms.peak_limit_bytes = peak_bytes;
  remat_standard(&forms, &stats, search->out, search->scratch);
  search->num_changed = (uint32_t)stats.num_steps;
  return stats.num_steps > 0;
}

/* Keeps the better one of two outcomes. */
static void keep_outcome(Outcome *best, Outcome outcome) {
  bool is_best = is_better_outcome(&outcome, best);
  arena_free(is_best ? best->arena : outcome.arena);
  if (is_best) *best = outcome;
}

/* Searches with prices for other forms. The steps are additional ones: what else is tried does not
 * depend on them. */
static void search_with_priced_forms(SearchJob *search, uint64_t num_steps) {
  Patience part = patience_part(search->job->patience, num_steps);
  Arena *arena = arena_new(arena_options(search->scratch));
  CompactShapes forms =
      compact_shapes_build(search->job, search_sizes(search->job), arena, search->scratch);
  search->forms = &forms;
  search_with_patience(search, &part);
  search->forms = NULL;
  arena_free(arena);
}

static void search_with_forms(SearchJob *search) {
  static const double shares[] = {1, 0.5}; /* of what is missing, that other forms are to free */
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  RematState before = remat_state_save(job, arena);
  int64_t before_bytes = remat_state_peak(job, search->scratch);
  double before_seconds = remat_state_seconds(job, search->scratch);
  uint64_t half_of_steps = patience_steps_left(job->patience) / 2;
  search_with_part(search, 2);
  Outcome best = outcome_of(search);
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    if (patience_is_over(job->patience)) break;
    remat_state_load(job, &before);
    double missing = (double)(before_bytes - job->peak_limit_bytes) * shares[i];
    if (missing <= 0 || !change_forms(search, before_bytes - (int64_t)missing)) break;
    search_with_part(search, i == 0 ? 2 : 1);
    Outcome outcome = outcome_of(search);
    outcome.num_steps += search->num_changed;
    keep_outcome(&best, outcome);
  }
  bool has_lost_time = !best.is_met || best.seconds > before_seconds;
  if (has_lost_time && !patience_is_stopped(job->patience)) {
    remat_state_load(job, &before);
    search_with_priced_forms(search, half_of_steps);
    keep_outcome(&best, outcome_of(search));
  }
  restore(search, &best.state, best.num_steps);
  arena_free(best.arena);
  arena_free(arena);
}

void remat_search(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  SearchJob search = {.job = job,
                      .unmet_comp = NO_ID,
                      .rules = {.is_thorough = true,
                                .keeps_order = job->options->keep_order,
                                .num_threads = job->options->num_threads},
                      .out = out,
                      .scratch = scratch};
  if (job->modes & ~(unsigned)RH_REMAT_RECOMPUTE) {
    search_with_forms(&search);
  } else {
    search_module(&search);
  }
  stats->num_steps = search.num_steps;
  if (search.found.arena) arena_free(search.found.arena);
  arena_free(search.arena);
}
