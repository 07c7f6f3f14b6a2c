#include "remat/search/driver.h"

#include "remat/job/drive.h"
#include "remat/rewrite/dce.h"
#include "remat/search/limits.h"
#include "remat/search/start.h"

/* ---- what searches begin from ---- */

static LineLimit line_limit_of(const SearchJob *search) {
  return limit_of_line(search->job->peak_limit, search->difference_bytes);
}

/* Searches with a small part of the steps. Returns the limit for a long search: higher by what the
 * model leaves below the budget. */
static LineLimit search_shortly(EntrySearch *entry, LineLimit limit) {
  SearchJob *search = entry->search;
  Patience part;
  uint64_t part_of = (uint64_t)search->job->parameters->search_short;
  uint64_t num_steps = patience_steps_left(search->job->patience) / part_of;
  Patience *whole = search_job_take_part(search, num_steps, &part);
  search->rules.is_thorough = false;
  search_once(entry, limit);
  search->rules.is_thorough = true;
  search_job_give_back(search, whole);
  int64_t room = search->job->peak_limit.bytes - entry->last.line_peak_bytes;
  return (LineLimit){limit.bytes + (room > 0 ? room : 0)};
}

/* A way to take the memory that parameters leave free, and the limit for lines that goes with it.
 */
typedef struct Lending {
  bool is_held;
  LineLimit limit;
} Lending;

static void set_lending(EntrySearch *entry, bool is_held) {
  SearchJob *search = entry->search;
  if (search->holds_lent != is_held || !entry->is_fresh) {
    search->holds_lent = is_held;
    search_entry_again(entry);
  }
  /* What values save by free memory depends on the order. */
  search->difference_bytes = is_held ? 0 : search_job_difference(search);
}

static Lending try_lending(EntrySearch *entry, bool is_held) {
  set_lending(entry, is_held);
  return (Lending){is_held, search_shortly(entry, line_limit_of(entry->search))};
}

/* Where memory is packed, one value at a time can use what a parameter leaves free before a result
 * takes it. Lines take that as held, or as free. Neither is exact: what a short search says is
 * nearer to the model gets most of the steps, and the other one the rest. */
static void search_lent(EntrySearch *entry) {
  SearchJob *search = entry->search;
  Lending first = try_lending(entry, true);
  double when_held = score_promise(entry->last.taken, search->job->peak_limit.bytes);
  Lending other = try_lending(entry, false);
  if (score_promise(entry->last.taken, search->job->peak_limit.bytes) < when_held) {
    Lending swapped = first;
    first = other;
    other = swapped;
  }
  Patience most;
  uint64_t num_steps = patience_steps_left(search->job->patience) / 4 * 3;
  Patience *whole = search_job_take_part(search, num_steps, &most);
  set_lending(entry, first.is_held);
  search_limits(entry, first.limit);
  search_job_give_back(search, whole);
  if (!search_job_may_go_on(search)) return;
  set_lending(entry, other.is_held);
  search_limits(entry, other.limit);
}

/* Searches from the order that the module was given in. */
static void search_start(EntrySearch *entry) {
  SearchJob *search = entry->search;
  bool has_budget = search->job->peak_limit.bytes > 0;
  search->difference_bytes = search_job_difference(search);
  if (search_job_packs(search) && has_budget && search->difference_bytes < 0) {
    search_lent(entry);
  } else {
    search_limits(entry, has_budget ? line_limit_of(search) : (LineLimit){0});
  }
}

/* The module as it was given, and another order to begin with. */
typedef struct Given {
  RematState state;
  Schedule start;
  bool has_start;
  double seconds;
  Arena *arena;
} Given;

/* Searches from another order of the module as it was given. Dead code goes, as it does when a line
 * is applied: a result may be this order alone. */
static void search_other_start(EntrySearch *entry, const Given *given, Arena *out) {
  SearchJob *search = entry->search;
  remat_state_load(search->job, &given->state);
  *search->job->schedule = schedule_copy(&given->start, search->job->rewrite->module, out);
  dce_run(search->job->rewrite, search->scratch);
  dce_update_schedule(search->job->rewrite->module, search->job->schedule, out);
  entry->before = remat_state_save(search->job, out);
  search->unmet_comp = NO_ID;
  search->holds_lent = search_job_packs(search);
  search_entry_again(entry);
  search_start(entry);
}

static bool is_nearly_free(const EntrySearch *entry, double given_seconds) {
  Score best = entry->best.figures.taken;
  double most_seconds = given_seconds / (double)entry->search->job->parameters->search_free;
  return best.is_met && best.seconds - given_seconds <= most_seconds;
}

static Given given_note(const SearchJob *search, Arena *arena) {
  const RematJob *job = search->job;
  Given given = {.state = remat_state_save(job, arena), .arena = arena};
  given.has_start =
      !job->options->keep_order && start_find(job, &given.start, arena, search->scratch);
  given.seconds = remat_state_seconds(job, search->scratch);
  return given;
}

/* The steps by the size of the module. */
static uint64_t steps_by_size(const RematJob *job) {
  return patience_steps_by_size(patience_effort(job->patience), job->rewrite->module->insts.len,
                                job->parameters);
}

/* Searches with so many steps, from the module as it was given and as it is now. What small modules
 * have besides the steps by their size is for another order. */
static Result search_starts(SearchJob *search, const Given *given, uint64_t num_steps) {
  const RematJob *job = search->job;
  EntrySearch entry = {.search = search, .before = given->state, .is_fresh = true};
  uint64_t num_own = steps_by_size(job);
  bool has_start = given->has_start && num_own < num_steps;
  Patience all, most;
  Patience *whole = search_job_take_part(search, num_steps, &all);
  (void)search_job_take_part(search, has_start ? num_own : num_steps, &most);
  search_start(&entry);
  search_job_give_back(search, &all);
  bool goes_on =
      has_start && search_job_may_go_on(search) && !is_nearly_free(&entry, given->seconds);
  if (goes_on) search_other_start(&entry, given, given->arena);
  search_job_give_back(search, whole);
  return entry.best;
}

/* ---- a budget that is missed ---- */

enum {
  NUM_RUNGS = 10, /* tenths of the peak that was given, from 0 on: as low as possible */
  NUM_LEVELS = 2, /* of steps for a rung */
};

/* Which rungs have been tried, by level. */
typedef struct Ladder {
  int64_t given_bytes, uncounted_bytes; /* that the budget bounds, and that it does not */
  int64_t lowest_bytes;                 /* of a rung's result */
  bool is_tried[NUM_LEVELS][NUM_RUNGS];
} Ladder;

/* The limit for whom a tenth of what the budget bounds is the budget. */
static PeakLimit rung_limit(const Ladder *ladder, int rung) {
  int64_t bytes =
      ladder->given_bytes / NUM_RUNGS * rung + ladder->given_bytes % NUM_RUNGS * rung / NUM_RUNGS;
  return limit_of_peak((CountedLimit){bytes}, ladder->uncounted_bytes);
}

/* The highest rung that is below so many bytes; -1 = there is none. */
static int rung_below(const Ladder *ladder, int64_t bytes) {
  int rung = NUM_RUNGS - 1;
  while (rung >= 0 && rung_limit(ladder, rung).bytes >= bytes)
    rung--;
  return rung;
}

/* The next rung to try: first those below the best result by half a rung or more, because one that
 * the best result nearly meets often leads to the same lines, then that one, and what looser limits
 * lead to. When all have been tried, the one below the lowest of their results has another try,
 * with more steps. Returns false if that leads nowhere any more. */
static bool next_rung(const Ladder *ladder, int64_t best_bytes, int *rung, int *level) {
  int far_below = rung_below(ladder, best_bytes - ladder->given_bytes / NUM_RUNGS / 2);
  *level = 0;
  for (*rung = far_below; *rung >= 0; --*rung) {
    if (!ladder->is_tried[0][*rung]) return true;
  }
  for (*rung = far_below + 1; *rung < NUM_RUNGS; ++*rung) {
    if (!ladder->is_tried[0][*rung]) return true;
  }
  *rung = rung_below(ladder, ladder->lowest_bytes);
  *level = 1;
  return *rung >= 0 && !ladder->is_tried[1][*rung];
}

/* All searches of the entry. */
typedef struct Whole {
  SearchJob *search;
  Given given;
  uint64_t num_steps; /* of the first searches */
  Result best;
  Ladder ladder;
  int rung;          /* that was tried last; below 0 = none */
  int64_t low, high; /* limits above it: with which the budget was met, and missed */
} Whole;

/* Makes the module what it was when it was given. */
static void search_again(SearchJob *search, const Given *given) {
  remat_state_load(search->job, &given->state);
  if (search->found.arena) arena_free(search->found.arena);
  search->found.arena = NULL;
  search->unmet_comp = NO_ID;
  search_job_begin(search, search_job_packs(search));
}

/* What counts of a result at the end: what it comes to where the engine judges it. */
static void judge(SearchJob *search, Result *result) {
  RematJob *job = search->job;
  Score *score = &result->figures.taken;
  if (job->judged_peak) {
    remat_state_load(job, &result->state);
    score->bytes = job->judged_peak(job);
  }
  score->is_met = score->bytes <= job->peak_limit.bytes;
}

/* Searches as for another budget, with additional steps, and keeps the better result for this one.
 * Returns what it came to, for this one. Steps that were not needed are there for the next search.
 */
static Score search_as_for(Whole *whole, PeakLimit limit, uint64_t num_steps) {
  SearchJob *search = whole->search;
  RematJob *job = search->job;
  PeakLimit own = job->peak_limit;
  uint64_t num_before = patience_steps_left(job->patience);
  search_again(search, &whole->given);
  job->peak_limit = limit;
  Result result = search_starts(search, &whole->given, num_steps);
  job->peak_limit = own;
  patience_give_back(job->patience, num_steps, num_before - patience_steps_left(job->patience));
  judge(search, &result);
  Score found = result.figures.taken;
  (void)result_keep(&whole->best, &result);
  return found;
}

/* The steps of the next effort. */
static uint64_t more_steps(const Whole *whole) {
  return whole->num_steps / 2 * 7;
}

/* The steps for short searches of all rungs; 0 with effort 0 and 1. */
static uint64_t short_steps(const Whole *whole) {
  const RematJob *job = whole->search->job;
  return patience_short_steps_of(patience_effort(job->patience), job->rewrite->module->insts.len,
                                 job->parameters);
}

static void note_rung(Whole *whole, int64_t bytes) {
  Ladder *ladder = &whole->ladder;
  if (bytes < ladder->lowest_bytes) ladder->lowest_bytes = bytes;
}

static bool begin_ladder(void *of) {
  Whole *whole = of;
  RematJob *job = whole->search->job;
  remat_state_load(job, &whole->given.state);
  int64_t peak_bytes = remat_state_peak(job, whole->search->scratch);
  whole->ladder = (Ladder){.given_bytes = peak_bytes - job->uncounted_bytes,
                           .uncounted_bytes = job->uncounted_bytes,
                           .lowest_bytes = INT64_MAX};
  for (int i = 0; i < NUM_RUNGS; i++) {
    if (rung_limit(&whole->ladder, i).bytes != job->peak_limit.bytes) continue;
    whole->ladder.is_tried[0][i] = true;
    note_rung(whole, whole->best.figures.taken.bytes);
  }
  return true;
}

/* Returns false if there are not so many steps. */
static bool search_for_rung(Whole *whole, int rung, int level, uint64_t num_steps) {
  if (!patience_go_on(whole->search->job->patience, num_steps)) return false;
  whole->ladder.is_tried[level][rung] = true;
  whole->rung = rung;
  note_rung(whole, search_as_for(whole, rung_limit(&whole->ladder, rung), num_steps).bytes);
  return true;
}

/* A limit does not always lead to a lower peak than a looser one, and not every budget that can be
 * met is met with the steps that there are. So whoever misses a budget searches as for other
 * budgets, too: always for the same ones, so that all who miss theirs end alike, and as low as
 * those of them would that are met. */
static bool try_rung(void *of, uint32_t number) {
  Whole *whole = of;
  int rung, level;
  (void)number;
  const RematJob *job = whole->search->job;
  if (!next_rung(&whole->ladder, whole->best.figures.taken.bytes, &rung, &level)) return false;
  uint64_t num_steps = level ? more_steps(whole) : whole->num_steps;
  uint64_t num_left = patience_more_left(job->patience);
  if (num_steps > num_left || num_left - num_steps < short_steps(whole)) return false;
  return search_for_rung(whole, rung, level, num_steps);
}

/* With a high effort the additional steps are not enough for all rungs. Those that have not been
 * tried are then searched with the steps of effort 1 (in large modules, with fewer), so that a
 * higher effort does not end above effort 1. */
static bool try_short_rung(void *of, uint32_t number) {
  Whole *whole = of;
  int rung = (int)number;
  return whole->ladder.is_tried[0][rung] ||
         search_for_rung(whole, rung, 0, short_steps(whole) / NUM_RUNGS);
}

/* What lies between the rung that has met the budget and the budget costs less time: limits go half
 * the way up from one that met it, and half the way down from one that did not. */
static bool try_above_rung(void *of, uint32_t number) {
  Whole *whole = of;
  RematJob *job = whole->search->job;
  if (whole->rung < 0) return false;
  if (number == 0) {
    whole->low = rung_limit(&whole->ladder, whole->rung).bytes;
    whole->high = job->peak_limit.bytes;
  }
  int64_t gap = whole->high - whole->low, middle = whole->low + gap / 2;
  if (gap <= 1 || !patience_go_on(job->patience, whole->num_steps)) return false;
  bool is_met = search_as_for(whole, (PeakLimit){middle}, whole->num_steps).is_met;
  *(is_met ? &whole->low : &whole->high) = middle;
  return true;
}

/* Every run of the module pays for what a budget costs, and only its compilation for a search:
 * where few steps have met the budget at a high price, more of them are spent on it. */
static bool try_more_steps(void *of, uint32_t number) {
  Whole *whole = of;
  RematJob *job = whole->search->job;
  double given_seconds = whole->given.seconds;
  (void)number;
  double most_seconds = given_seconds / (double)job->parameters->search_costly;
  bool is_costly = whole->best.figures.taken.seconds - given_seconds > most_seconds;
  if (is_costly && patience_go_on(job->patience, more_steps(whole)))
    (void)search_as_for(whole, job->peak_limit, more_steps(whole));
  return true;
}

/* What follows the first searches. */
static const Move further[] = {
    {.needs = MOVE_FOR_MISSED, .is_of_use = begin_ladder, .try_next = try_rung},
    {.needs = MOVE_FOR_MISSED, .most = NUM_RUNGS, .try_next = try_short_rung},
    {.needs = MOVE_FOR_MET, .most = 3, .try_next = try_above_rung},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = try_more_steps},
};

void drive_search(SearchJob *search) {
  search_job_begin(search, search_job_packs(search));
  Arena *arena = arena_new(arena_options(search->scratch));
  Whole whole = {.search = search,
                 .given = given_note(search, arena),
                 .num_steps = patience_steps_left(search->job->patience),
                 .rung = -1};
  whole.best = search_starts(search, &whole.given, whole.num_steps);
  judge(search, &whole.best);
  Drive drive_further = {.of = &whole, .best = &whole.best.figures.taken};
  drive(&drive_further, further, sizeof further / sizeof *further);
  search_job_restore(search, &whole.best.state, whole.best.num_steps);
  result_free(&whole.best);
  arena_free(arena);
}
