#include "remat/search/driver.h"

#include "remat/job/drive.h"
#include "remat/rewrite/dce.h"
#include "remat/search/start.h"

/* The searches of the entry, each of which begins from the module as it was given. */
typedef struct Driver {
  SearchJob *search;
  RematState before;
  Result best, last;
  uint32_t num_results;
  bool best_is_last;
  bool is_fresh;   /* the module is as it was given */
  LineLimit asked; /* the limit that the table of limits begins with */
  LineLimit limit; /* the last one */
  /* of try_corrected() */
  int64_t too_high, low_enough;
  int num_failed;
  /* of try_higher() */
  uint64_t least_steps;
  int64_t room;
  /* of try_raised() */
  int64_t lowest, line_before;
} Driver;

/* ---- one search ---- */

/* Keeps the best result from what is done to the module next. */
static void keep_best(Driver *driver) {
  if (driver->best_is_last)
    driver->best.state = remat_state_save(driver->search->job, driver->best.arena);
  driver->best_is_last = false;
}

/* Goes back to the module as it was given. */
static void begin_again(Driver *driver) {
  SearchJob *search = driver->search;
  keep_best(driver);
  remat_state_load(search->job, &driver->before);
  search->num_comps = 0;
  search_job_analyze(search);
  search->num_steps = 0;
  driver->is_fresh = true;
}

/* Searches under a limit for lines, and keeps what that comes to if it is the best so far. */
static void search_once(Driver *driver, LineLimit limit) {
  SearchJob *search = driver->search;
  RematJob *job = search->job;
  if (!driver->is_fresh) begin_again(driver);
  driver->is_fresh = false;
  driver->limit = limit;
  search_tree(search, job->rewrite->module->entry, limit);
  Result result = search_job_result(search);
  if (search->round.arena && score_is_better(search->round.figures.taken, result.figures.taken)) {
    result = search->round;
    search_job_restore(search, &result.state, result.num_steps);
    search->entry = result.figures;
  }
  if (search->round.arena) arena_free(search->round.arena);
  search->round.arena = NULL;
  result.arena = arena_new(arena_options(search->scratch));
  driver->last = result;
  driver->best_is_last = driver->num_results++ == 0 ||
                         score_is_better(result.figures.taken, driver->best.figures.taken);
  if (!driver->best_is_last) {
    arena_free(result.arena);
    return;
  }
  if (driver->num_results > 1) arena_free(driver->best.arena);
  driver->best = result;
}

/* The same, from the lines that were found under the limit before, which is near. */
static bool search_near(Driver *driver, int64_t limit_bytes) {
  SearchJob *search = driver->search;
  KnownLines known = search->found;
  search->found.arena = NULL;
  search->known = &known;
  search_once(driver, (LineLimit){limit_bytes});
  search->known = NULL;
  if (known.arena) arena_free(known.arena);
  return true;
}

/* ---- limits for lines ---- */

/* Lowers the limit until the best line meets the budget, and as long as that gains. Packing and
 * sharing make the model's peak differ from that of lines, and not by the same everywhere: after
 * the first correction, by the excess, the limit falls faster and faster, since a line that keeps
 * the same large values has the same peak. Between a limit that was too high and one that was low
 * enough it goes half the way. */
static bool try_corrected(void *of, uint32_t number) {
  Driver *driver = of;
  const Figures *last = &driver->last.figures;
  const RematParameters *parameters = driver->search->job->parameters;
  int64_t budget = driver->search->job->peak_limit.bytes;
  bool is_met = driver->best.figures.taken.is_met;
  if (number == 0) {
    if (last->line_peak_bytes <= budget) return false;
    driver->too_high = INT64_MAX;
    driver->low_enough = 0;
    driver->num_failed = 0;
  }
  bool has_gained = number == 0 || !is_met || driver->best_is_last;
  if (number + 1 >= (is_met ? parameters->search_few_limits : parameters->search_limits) ||
      !has_gained)
    return false;
  if (last->line_bytes > driver->limit.bytes) return false; /* it was not reached */
  if (last->line_peak_bytes <= budget) {
    if (last->line_bytes > driver->low_enough) driver->low_enough = last->line_bytes;
  } else {
    if (last->line_bytes < driver->too_high) driver->too_high = last->line_bytes;
    driver->num_failed++;
  }
  if (driver->low_enough > 0) {
    int64_t gap = driver->too_high - driver->low_enough;
    return gap > budget / parameters->search_gap &&
           search_near(driver, driver->low_enough + gap / 2);
  }
  int64_t fall = last->line_peak_bytes - budget;
  for (int i = 1; i < driver->num_failed && fall < budget; i++)
    fall *= 4;
  return driver->too_high > fall && search_near(driver, driver->too_high - fall);
}

static bool packs_and_costs(void *of) {
  Driver *driver = of;
  const RematJob *job = driver->search->job;
  driver->least_steps = patience_steps_left(job->patience) / 2;
  driver->room = job->peak_limit.bytes - driver->last.figures.line_peak_bytes;
  return job->memory_model->traits & RH_TRAIT_PACKS && !driver->best.figures.is_free;
}

/* Where packing wastes less for the line that was found than in the order given, or values use the
 * free memory of parameters, one that needs more may meet the budget, too, and cost less. */
static bool try_higher(void *of, uint32_t number) {
  static const double factors[] = {1.01, 1.03};
  Driver *driver = of;
  bool is_quick = patience_steps_left(driver->search->job->patience) > driver->least_steps;
  if (number == sizeof factors / sizeof *factors || !is_quick) return false;
  int64_t more = (int64_t)((double)driver->asked.bytes * (factors[number] - 1));
  int64_t room = driver->room / (INT64_C(1) << number);
  return search_near(driver, driver->asked.bytes + (more > room ? more : room));
}

static bool wastes_more(void *of) {
  Driver *driver = of;
  const Figures *last = &driver->last.figures;
  driver->lowest = last->line_bytes;
  driver->line_before = 0;
  return last->line_peak_bytes - driver->lowest > driver->search->difference_bytes;
}

/* Packing may need less for a line that needs more, if it wastes more than in the order given. */
static bool try_raised(void *of, uint32_t number) {
  static const double factors[] = {1.02, 1.05, 1.1, 1.2};
  Driver *driver = of;
  const Figures *last = &driver->last.figures;
  if (number == sizeof factors / sizeof *factors) return false;
  if (driver->line_before == last->line_bytes) return false; /* the limit does not matter now */
  driver->line_before = last->line_bytes;
  return search_near(driver, (int64_t)((double)driver->lowest * factors[number]));
}

/* What is left of the steps goes to the lowest peak. */
static bool try_lowest(void *of, uint32_t number) {
  (void)number;
  search_once(of, (LineLimit){0});
  return true;
}

static bool may_search(const void *of) {
  return search_job_may_go_on(((const Driver *)of)->search);
}

/* The limits that are tried for lines after the first one. */
static const Move limits[] = {
    {.needs = MOVE_FOR_BUDGET, .try_next = try_corrected},
    {.needs = MOVE_FOR_BUDGET | MOVE_FOR_MET, .is_of_use = packs_and_costs, .try_next = try_higher},
    {.needs = MOVE_FOR_MISSED, .is_of_use = wastes_more, .try_next = try_raised},
    {.needs = MOVE_FOR_BUDGET | MOVE_FOR_MISSED, .most = 1, .try_next = try_lowest},
};

static bool wastes_much(const SearchJob *search) {
  int64_t budget = search->job->peak_limit.bytes;
  return budget > 0 && !search->rules.keeps_order &&
         search->difference_bytes > budget / search->job->parameters->search_wasteful;
}

static void search_limits_below(Driver *driver, LineLimit limit) {
  driver->asked = limit;
  search_once(driver, limit);
  Drive limits_of = {.of = driver,
                     .best = &driver->best.figures.taken,
                     .has_budget = driver->search->job->peak_limit.bytes > 0,
                     .can_go_on = may_search};
  drive(&limits_of, limits, sizeof limits / sizeof *limits);
}

/* Where packing wastes much in the order given, nobody knows what it will waste in others. Lines in
 * that order may cost less, although they need more. The few steps that they take are additional
 * ones: what else is found does not depend on them. */
static void search_limits(Driver *driver, LineLimit limit) {
  SearchJob *search = driver->search;
  if (wastes_much(search)) {
    Patience part;
    uint64_t num_steps = patience_steps_left(search->job->patience) / 4;
    Patience *whole = search_job_take_part(search, num_steps, &part);
    search->rules.keeps_order = true;
    search_limits_below(driver, limit);
    search->rules.keeps_order = false;
    search->unmet_comp = NO_ID;
    search->job->patience = whole;
  }
  search_limits_below(driver, limit);
}

/* ---- what searches begin from ---- */

static LineLimit line_limit_of(const SearchJob *search) {
  return limit_of_line(search->job->peak_limit, search->difference_bytes);
}

/* Searches with a small part of the steps. Returns the limit for a long search: higher by what the
 * model leaves below the budget. */
static LineLimit search_shortly(Driver *driver, LineLimit limit) {
  SearchJob *search = driver->search;
  Patience part;
  uint64_t part_of = (uint64_t)search->job->parameters->search_short;
  uint64_t num_steps = patience_steps_left(search->job->patience) / part_of;
  Patience *whole = search_job_take_part(search, num_steps, &part);
  search->rules.is_thorough = false;
  search_once(driver, limit);
  search->rules.is_thorough = true;
  search_job_give_back(search, whole);
  int64_t room = search->job->peak_limit.bytes - driver->last.figures.line_peak_bytes;
  return (LineLimit){limit.bytes + (room > 0 ? room : 0)};
}

/* A way to take the memory that parameters leave free, and the limit for lines that goes with it.
 */
typedef struct Lending {
  bool is_held;
  LineLimit limit;
} Lending;

static void set_lending(Driver *driver, bool is_held) {
  SearchJob *search = driver->search;
  if (search->holds_lent != is_held || !driver->is_fresh) {
    search->holds_lent = is_held;
    begin_again(driver);
  }
  /* What values save by free memory depends on the order. */
  search->difference_bytes = is_held ? 0 : search_job_difference(search);
}

static Lending try_lending(Driver *driver, bool is_held) {
  set_lending(driver, is_held);
  return (Lending){is_held, search_shortly(driver, line_limit_of(driver->search))};
}

/* Where memory is packed, one value at a time can use what a parameter leaves free before a result
 * takes it. Lines take that as held, or as free. Neither is exact: what a short search says is
 * nearer to the model gets most of the steps, and the other one the rest. */
static void search_lent(Driver *driver) {
  SearchJob *search = driver->search;
  Lending first = try_lending(driver, true);
  double when_held = score_promise(driver->last.figures.taken, search->job->peak_limit.bytes);
  Lending other = try_lending(driver, false);
  if (score_promise(driver->last.figures.taken, search->job->peak_limit.bytes) < when_held) {
    Lending swapped = first;
    first = other;
    other = swapped;
  }
  Patience most;
  uint64_t num_steps = patience_steps_left(search->job->patience) / 4 * 3;
  Patience *whole = search_job_take_part(search, num_steps, &most);
  set_lending(driver, first.is_held);
  search_limits(driver, first.limit);
  search_job_give_back(search, whole);
  if (!search_job_may_go_on(search)) return;
  set_lending(driver, other.is_held);
  search_limits(driver, other.limit);
}

/* Searches from the order that the module was given in. */
static void search_start(Driver *driver) {
  SearchJob *search = driver->search;
  const RematJob *job = search->job;
  bool packs = job->memory_model->traits & RH_TRAIT_PACKS;
  search->difference_bytes = search_job_difference(search);
  if (packs && job->peak_limit.bytes > 0 && search->difference_bytes < 0) {
    search_lent(driver);
  } else {
    search_limits(driver, job->peak_limit.bytes > 0 ? line_limit_of(search) : (LineLimit){0});
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
static void search_other_start(Driver *driver, const Given *given, Arena *out) {
  SearchJob *search = driver->search;
  keep_best(driver);
  remat_state_load(search->job, &given->state);
  *search->job->schedule = schedule_copy(&given->start, search->job->rewrite->module, out);
  dce_run(search->job->rewrite, search->scratch);
  dce_update_schedule(search->job->rewrite->module, search->job->schedule, out);
  driver->before = remat_state_save(search->job, out);
  search->unmet_comp = NO_ID;
  search->holds_lent = search->job->memory_model->traits & RH_TRAIT_PACKS;
  begin_again(driver);
  search_start(driver);
}

static bool is_nearly_free(const Driver *driver, double given_seconds) {
  Score best = driver->best.figures.taken;
  double most_seconds = given_seconds / (double)driver->search->job->parameters->search_free;
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
  Driver driver = {.search = search, .before = given->state, .is_fresh = true};
  uint64_t num_own = steps_by_size(job);
  bool has_start = given->has_start && num_own < num_steps;
  Patience all, most;
  Patience *whole = search_job_take_part(search, num_steps, &all);
  (void)search_job_take_part(search, has_start ? num_own : num_steps, &most);
  search_start(&driver);
  search_job_give_back(search, &all);
  bool goes_on =
      has_start && search_job_may_go_on(search) && !is_nearly_free(&driver, given->seconds);
  if (goes_on) search_other_start(&driver, given, given->arena);
  search_job_give_back(search, whole);
  keep_best(&driver);
  return driver.best;
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
  search->num_steps = search->num_comps = 0;
  search->holds_lent = search->job->memory_model->traits & RH_TRAIT_PACKS;
  search_job_analyze(search);
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
  bool is_best = score_is_better(found, whole->best.figures.taken);
  arena_free(is_best ? whole->best.arena : result.arena);
  if (is_best) whole->best = result;
  return found;
}

/* The steps of the next effort. */
static uint64_t more_steps(const Whole *whole) {
  return whole->num_steps / 2 * 7;
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
  if (!patience_go_on(job->patience, num_steps)) return false;
  whole->ladder.is_tried[level][rung] = true;
  whole->rung = rung;
  note_rung(whole, search_as_for(whole, rung_limit(&whole->ladder, rung), num_steps).bytes);
  return true;
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
    {.needs = MOVE_FOR_MET, .most = 3, .try_next = try_above_rung},
    {.needs = MOVE_FOR_MET, .most = 1, .try_next = try_more_steps},
};

void drive_search(SearchJob *search) {
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
  arena_free(whole.best.arena);
  arena_free(arena);
}
