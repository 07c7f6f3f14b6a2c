/* Applies lines and measures them by the model of the job. Packing, which lines know nothing of,
 * decides which line is taken: those that are nearly as good, their steps in other orders, and
 * lines that are lowered until one meets the budget. */
#include "remat/job/drive.h"
#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/hoist.h"
#include "remat/search/job.h"

enum {
  MEASURING_STEPS = 50, /* for each instruction, to measure the module */
  MOST_REORDERED = 2,   /* lines that are tried in other orders, since packing wastes memory */
  MOST_LOWERED = 4,     /* lines that are lowered until packing lets one meet the budget */
};

bool take_line(SearchJob *search, CompId comp, const ScoredLine *scored) {
  RematJob *job = search->job;
  Applied applied = line_apply(&scored->line, job, search->out, search->scratch);
  search->inner_bytes[comp] = scored->score.bytes;
  /* Without steps the module must be as it was, dead code included. */
  uint32_t num_steps = applied.num_clones + applied.num_forms + applied.num_moved;
  if (num_steps == 0) return false;
  search->num_steps += num_steps;
  dce_run(job->rewrite, search->scratch);
  dce_update_schedule(job->rewrite->module, job->schedule, search->out);
  return true;
}

/* A line that was taken, and what it needs by the model. */
typedef struct Taken {
  const ScoredLine *line;
  int64_t bytes;
} Taken;

/* Lines of the entry that are applied one after the other and measured by the model of the job,
 * packing included. */
typedef struct Taking {
  SearchJob *search;
  const FoundLines *found; /* the first one is the best by what lines count */
  RematState before;
  uint32_t num_steps; /* of the search, before any line was applied */
  uint64_t price;     /* of a measurement, in steps */
  bool is_wasted;     /* packing wastes more of the first one than of the order given */
  Taken taken[MAX_FOUND];
  uint32_t num_taken;
  const ScoredLine *last, *best;
  Score of_last, of_best; /* of these lines */
  Arena *arena;
} Taking;

static void take(Taking *taking, const ScoredLine *line) {
  SearchJob *search = taking->search;
  if (taking->last) {
    remat_state_load(search->job, &taking->before);
    search->num_steps = taking->num_steps;
  }
  (void)take_line(search, search->job->rewrite->module->entry, line);
  taking->last = line;
  int64_t peak_bytes = remat_state_peak(search->job, search->scratch);
  taking->of_last = (Score){.is_met = peak_bytes <= search->job->peak_limit.bytes,
                            .bytes = peak_bytes,
                            .seconds = line->score.seconds};
  if (taking->best && !score_is_better(taking->of_last, taking->of_best)) return;
  taking->best = line;
  taking->of_best = taking->of_last;
}

/* Whether there are steps to measure another line. */
static bool may_take(const Taking *taking) {
  return patience_spend(taking->search->job->patience, taking->price);
}

static void take_and_note(Taking *taking, const ScoredLine *line) {
  take(taking, line);
  taking->taken[taking->num_taken++] = (Taken){line, taking->of_last.bytes};
}

static bool is_wasted(void *of) {
  return ((Taking *)of)->is_wasted;
}

static bool take_other(void *of, uint32_t number) {
  Taking *taking = of;
  bool is_last = number + 1 == taking->found->len;
  if (is_last || taking->of_last.is_met || !may_take(taking)) return false;
  take_and_note(taking, &taking->found->list[number + 1]);
  return true;
}

static bool may_reorder(void *of) {
  Taking *taking = of;
  return taking->is_wasted && !taking->search->rules.keeps_order;
}

/* Takes a line with its steps in other orders, which cost the same: packing may waste less where
 * less is live than has to be. Stops at one that meets the budget. The line becomes the one of them
 * that needs least. */
static bool take_reordered(void *of, uint32_t number) {
  static const HoistRules tolerant = {
      .moves_cones = true, .is_tolerant = true, .frees_sources = true, .num_sweeps = 2};
  static const HoistRules strict = {.moves_cones = true, .frees_sources = true, .num_sweeps = 2};
  static const struct {
    double share; /* of the peak, that steps are hoisted to */
    const HoistRules *rules;
  } orders[] = {{0.97, &tolerant}, {0.97, &strict}, {0.94, &tolerant}, {0.94, &strict}};
  Taking *taking = of;
  SearchJob *search = taking->search;
  if (number == taking->num_taken) return false;
  Taken *taken = &taking->taken[number];
  const ScoredLine *given = taken->line;
  if (taking->of_best.is_met && given->score.seconds >= taking->of_best.seconds) return false;
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    int64_t limit_bytes = (int64_t)((double)given->score.bytes * orders[i].share);
    Line line = hoist(&given->line, limit_bytes, orders[i].rules, search->job->patience,
                      taking->arena, search->scratch);
    if (line_equals(&line, &taken->line->line)) continue;
    if (!may_take(taking)) break;
    ScoredLine *reordered = arena_alloc(taking->arena, sizeof *reordered);
    *reordered = scored_measure(&line, given->score.bytes, search->scratch);
    take(taking, reordered);
    if (taking->of_last.bytes < taken->bytes) *taken = (Taken){reordered, taking->of_last.bytes};
    if (taking->of_last.is_met) break;
  }
  return true;
}

/* The line, mended and trimmed for another limit. */
static const ScoredLine *fit_to(Taking *taking, const ScoredLine *line, int64_t limit_bytes) {
  SearchJob *search = taking->search;
  ScoredLine *found = arena_alloc(taking->arena, sizeof *found);
  *found = search_lowered(line, limit_bytes, &search->rules, search->job->patience, taking->arena,
                          search->scratch);
  return found;
}

static bool may_lower(void *of) {
  Taking *taking = of;
  return found_best(taking->found)->score.is_met && !taking->of_best.is_met;
}

/* Lowers a line that was taken, further and further, as long as that does not meet the budget. */
static bool take_lowered(void *of, uint32_t number) {
  static const double factors[] = {0.25, 0.5, 1, 2, 4}; /* of what is missing */
  Taking *taking = of;
  if (number == taking->num_taken) return false;
  Taken taken = taking->taken[number];
  const ScoredLine *line = taken.line;
  int64_t budget = taking->search->job->peak_limit.bytes;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && may_take(taking); i++) {
    double missing = factors[i] * (double)(taken.bytes - budget);
    int64_t limit_bytes = line->score.bytes - (int64_t)missing;
    if (limit_bytes <= 0) break;
    const ScoredLine *lowered = fit_to(taking, line, limit_bytes);
    bool is_worse = taking->of_best.is_met && lowered->score.seconds > taking->of_best.seconds;
    if (lowered->score.bytes >= line->score.bytes || is_worse) break;
    take(taking, lowered);
    if (taking->of_last.is_met) break;
  }
  return true;
}

/* Takes back what a line that meets the budget recomputes, as far as the model leaves room: it
 * needs less than the line seems to where values use the free memory of parameters. */
static bool take_raised(void *of, uint32_t number) {
  static const double factors[] = {1, 0.5, 0.25}; /* of the room */
  Taking *taking = of;
  (void)number;
  const RematJob *job = taking->search->job;
  const ScoredLine *line = taking->best;
  int64_t room = job->peak_limit.bytes - taking->of_best.bytes;
  if (room <= job->peak_limit.bytes / job->parameters->search_room) return false;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && may_take(taking); i++) {
    int64_t limit_bytes = line->score.bytes + (int64_t)(factors[i] * (double)room);
    const ScoredLine *raised = fit_to(taking, line, limit_bytes);
    if (raised->score.seconds >= line->score.seconds) break;
    take(taking, raised);
    if (taking->of_last.is_met) break;
  }
  return true;
}

/* The lines that are taken after the first one. */
static const Move moves[] = {
    {.is_of_use = is_wasted, .try_next = take_other},
    {.most = MOST_REORDERED, .is_of_use = may_reorder, .try_next = take_reordered},
    {.most = MOST_LOWERED, .is_of_use = may_lower, .try_next = take_lowered},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = take_raised},
};

/* The other lines are not looked at where packing wastes no more than in the order given. */
void take_first_met(SearchJob *search, const FoundLines *found, Arena *arena) {
  RematJob *job = search->job;
  const ScoredLine *first = found_best(found);
  Taking taking = {.search = search,
                   .found = found,
                   .before = remat_state_save(job, arena),
                   .num_steps = search->num_steps,
                   .price = (uint64_t)job->rewrite->module->insts.len * MEASURING_STEPS,
                   .arena = arena};
  take_and_note(&taking, first);
  int64_t first_bytes = taking.of_last.bytes;
  taking.is_wasted = first_bytes - first->score.bytes > search->difference_bytes;
  Drive takes = {.of = &taking, .best = &taking.of_best};
  drive(&takes, moves, sizeof moves / sizeof *moves);
  if (taking.last != taking.best) take(&taking, taking.best);
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  Line given = line_of_graph(first->line.graph, arena);
  double given_seconds = scored_measure(&given, 0, search->scratch).score.seconds;
  search->entry = (Figures){.line_bytes = first->score.bytes,
                            .line_peak_bytes = first_bytes,
                            .taken = taking.of_best,
                            .is_free = scored_is_free(taking.best, given_seconds)};
}
