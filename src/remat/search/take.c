/* Applies lines and measures them by the model of the job. Packing, which lines know nothing of,
 * decides which line is taken: those that are nearly as good, their steps in other orders, and
 * lines that are lowered until one meets the budget. */
#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/hoist.h"
#include "remat/search/job.h"

enum {
  MEASURING_STEPS = 50, /* for each instruction, to measure the module */
  LEAST_ROOM = 200,     /* below the budget, as a part of it, that is worth a look */
  MOST_REORDERED = 2,   /* lines that are tried in other orders, since packing wastes memory */
  MOST_LOWERED = 4,     /* lines that are lowered until packing lets one meet the budget */
};

void take_line(SearchJob *search, CompId comp, const PricedLine *priced) {
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
  Score of_last, of_best; /* of these lines */
} Taking;

static void take(Taking *taking, const PricedLine *line) {
  SearchJob *search = taking->search;
  if (taking->last) {
    remat_state_load(search->job, &taking->before);
    search->num_steps = taking->num_steps;
  }
  take_line(search, search->job->rewrite->module->entry, line);
  taking->last = line;
  int64_t peak_bytes = remat_state_peak(search->job, search->scratch);
  taking->of_last = (Score){.is_met = peak_bytes <= search->job->peak_limit_bytes,
                            .bytes = peak_bytes,
                            .seconds = line->seconds};
  if (taking->best && !score_is_better(taking->of_last, taking->of_best)) return;
  taking->best = line;
  taking->of_best = taking->of_last;
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
    if (taking->of_last.bytes < taken->bytes) *taken = (Taken){reordered, taking->of_last.bytes};
    if (taking->of_last.is_met) break;
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
    bool is_worse = taking->of_best.is_met && lowered->seconds > taking->of_best.seconds;
    if (lowered->peak_bytes >= line->peak_bytes || is_worse) break;
    take(taking, lowered);
    if (taking->of_last.is_met) break;
  }
}

/* Takes back what a line that meets the budget recomputes, as far as the model leaves room: it
 * needs less than the line seems to where values use the free memory of parameters. */
static void take_raised(Taking *taking, Arena *arena) {
  static const double factors[] = {1, 0.5, 0.25}; /* of the room */
  SearchJob *search = taking->search;
  RematJob *job = search->job;
  const PricedLine *line = taking->best;
  int64_t room = job->peak_limit_bytes - taking->of_best.bytes;
  if (room <= job->peak_limit_bytes / LEAST_ROOM) return;
  for (size_t i = 0; i < sizeof factors / sizeof *factors && may_take(taking); i++) {
    int64_t limit_bytes = line->peak_bytes + (int64_t)(factors[i] * (double)room);
    PricedLine *raised = arena_alloc(arena, sizeof *raised);
    *raised =
        search_lowered(line, limit_bytes, &search->rules, job->patience, arena, search->scratch);
    if (raised->seconds >= line->seconds) break;
    take(taking, raised);
    if (taking->of_last.is_met) break;
  }
}

/* Rewrites the entry as the first line says that meets the budget by the model of the job; or, if
 * none does, as the one with the lowest peak. The other lines are not looked at where packing
 * wastes no more than in the order given. */
void take_first_met(SearchJob *search, const PricedLine *best, const OtherLines *others,
                    Arena *arena) {
  RematJob *job = search->job;
  Taking taking = {.search = search,
                   .before = remat_state_save(job, arena),
                   .num_steps = search->num_steps,
                   .price = (uint64_t)job->rewrite->module->insts.len * MEASURING_STEPS};
  Taken taken[MAX_OTHERS + 1];
  uint32_t num_taken = 0;
  take(&taking, best);
  int64_t first_bytes = taking.of_last.bytes;
  taken[num_taken++] = (Taken){best, first_bytes};
  bool is_wasted = first_bytes - best->peak_bytes > search->difference_bytes;
  for (uint32_t i = 0; is_wasted && i < others->len; i++) {
    if (taking.of_last.is_met || !may_take(&taking)) break;
    take(&taking, &others->list[i]);
    taken[num_taken++] = (Taken){&others->list[i], taking.of_last.bytes};
  }
  bool may_move = is_wasted && !search->rules.keeps_order;
  for (uint32_t i = 0; may_move && i < num_taken && i < MOST_REORDERED; i++) {
    if (taking.of_best.is_met && taken[i].line->seconds >= taking.of_best.seconds) break;
    take_reordered(&taking, &taken[i], arena);
  }
  bool is_to_lower = best->fits && !taking.of_best.is_met;
  for (uint32_t i = 0; is_to_lower && i < num_taken && i < MOST_LOWERED; i++)
    take_lowered(&taking, taken[i], arena);
  if (taking.of_best.is_met) take_raised(&taking, arena);
  if (taking.last != taking.best) take(&taking, taking.best);
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  Line given = line_of_graph(best->line.graph, arena);
  double given_seconds = priced_measure(&given, 0, search->scratch).seconds;
  search->entry = (Figures){.line_bytes = best->peak_bytes,
                            .line_peak_bytes = first_bytes,
                            .taken = taking.of_best,
                            .is_free = priced_is_free(taking.best, given_seconds)};
}
