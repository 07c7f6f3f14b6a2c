#include "remat/search/driver.h"

#include "remat/rewrite/dce.h"
#include "remat/search/start.h"

enum {
  MAX_LIMITS = 8,    /* for lines, until one meets the budget */
  FEW_LIMITS = 4,    /* when one does, for another one that costs less */
  LEAST_GAP = 100,   /* between limits, as a part of the budget */
  SHORT_PART = 8,    /* of the steps, for a short search */
  NEARLY_FREE = 100, /* part of the time that is to be added for another one to be tried */
  NO_LIMIT = -1,     /* a strategy has no more limits to try */
};

/* The searches of the entry, each of which begins from the module as it was given. */
typedef struct Driver {
  SearchJob *search;
  RematState before;
  Result best, last;
  uint32_t num_results;
  bool best_is_last;
  bool is_fresh; /* the module is as it was given */
  int64_t asked; /* the limit that strategies begin with */
  /* of corrected_limit() */
  int64_t too_high, low_enough;
  int num_failed;
  /* of higher_limit() */
  uint64_t least_steps;
  int64_t room;
  /* of raised_limit() */
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
static void search_once(Driver *driver, int64_t line_limit) {
  SearchJob *search = driver->search;
  RematJob *job = search->job;
  if (!driver->is_fresh) begin_again(driver);
  driver->is_fresh = false;
  search_tree(search, job->rewrite->module->entry, line_limit);
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
static void search_near(Driver *driver, int64_t line_limit) {
  SearchJob *search = driver->search;
  KnownLines known = search->found;
  search->found.arena = NULL;
  search->known = &known;
  search_once(driver, line_limit);
  search->known = NULL;
  if (known.arena) arena_free(known.arena);
}

/* ---- limits for lines ---- */

/* Lowers the limit until the best line meets the budget, and as long as that gains. Packing and
 * sharing make the model's peak differ from that of lines, and not by the same everywhere: after
 * the first correction, by the excess, the limit falls faster and faster, since a line that keeps
 * the same large values has the same peak. Between a limit that was too high and one that was low
 * enough it goes half the way. */
static int64_t corrected_limit(Driver *driver, uint32_t number, int64_t limit) {
  const Figures *last = &driver->last.figures;
  int64_t budget = driver->search->job->peak_limit_bytes;
  bool is_met = driver->best.figures.taken.is_met;
  if (number == 0) {
    if (last->line_peak_bytes <= budget) return NO_LIMIT;
    driver->too_high = INT64_MAX;
    driver->low_enough = 0;
    driver->num_failed = 0;
  }
  bool has_gained = number == 0 || !is_met || driver->best_is_last;
  if (number + 1 >= (is_met ? FEW_LIMITS : MAX_LIMITS) || !has_gained) return NO_LIMIT;
  if (last->line_bytes > limit) return NO_LIMIT; /* it was not reached */
  if (last->line_peak_bytes <= budget) {
    if (last->line_bytes > driver->low_enough) driver->low_enough = last->line_bytes;
  } else {
    if (last->line_bytes < driver->too_high) driver->too_high = last->line_bytes;
    driver->num_failed++;
  }
  if (driver->low_enough > 0) {
    int64_t gap = driver->too_high - driver->low_enough;
    return gap > budget / LEAST_GAP ? driver->low_enough + gap / 2 : NO_LIMIT;
  }
  int64_t fall = last->line_peak_bytes - budget;
  for (int i = 1; i < driver->num_failed && fall < budget; i++)
    fall *= 4;
  return driver->too_high > fall ? driver->too_high - fall : NO_LIMIT;
}

/* Where packing wastes less for the line that was found than in the order given, or values use the
 * free memory of parameters, one that needs more may meet the budget, too, and cost less. */
static int64_t higher_limit(Driver *driver, uint32_t number, int64_t limit) {
  static const double factors[] = {1.01, 1.03};
  const RematJob *job = driver->search->job;
  (void)limit;
  if (number == 0) {
    driver->least_steps = patience_steps_left(job->patience) / 2;
    driver->room = job->peak_limit_bytes - driver->last.figures.line_peak_bytes;
    bool may_gain = job->memory_model->traits & RH_TRAIT_PACKS && !driver->best.figures.is_free;
    if (!may_gain) return NO_LIMIT;
  }
  bool is_quick = patience_steps_left(job->patience) > driver->least_steps;
  if (number == sizeof factors / sizeof *factors || !is_quick) return NO_LIMIT;
  int64_t more = (int64_t)((double)driver->asked * (factors[number] - 1));
  int64_t room = driver->room / (INT64_C(1) << number);
  return driver->asked + (more > room ? more : room);
}

/* Packing may need less for a line that needs more, if it wastes more than in the order given. */
static int64_t raised_limit(Driver *driver, uint32_t number, int64_t limit) {
  static const double factors[] = {1.02, 1.05, 1.1, 1.2};
  const Figures *last = &driver->last.figures;
  (void)limit;
  if (number == 0) {
    driver->lowest = last->line_bytes;
    driver->line_before = 0;
    int64_t wasted = last->line_peak_bytes - driver->lowest;
    if (wasted <= driver->search->difference_bytes) return NO_LIMIT;
  }
  if (number == sizeof factors / sizeof *factors) return NO_LIMIT;
  if (driver->line_before == last->line_bytes) return NO_LIMIT; /* the limit does not matter now */
  driver->line_before = last->line_bytes;
  return (int64_t)((double)driver->lowest * factors[number]);
}

/* What is left of the steps goes to the lowest peak. */
static int64_t no_limit_at_all(Driver *driver, uint32_t number, int64_t limit) {
  (void)driver, (void)limit;
  return number == 0 ? 0 : NO_LIMIT;
}

/* The limits that are tried, one strategy after the other. */
static const struct Strategy {
  /* the next limit for lines, after `number` ones of this strategy and `limit`, the last one */
  int64_t (*next)(Driver *driver, uint32_t number, int64_t limit);
  bool is_for_met, is_for_missed; /* it goes on as long as the best line meets the budget, or not */
  bool needs_budget;              /* as low as possible is no budget */
  bool is_near;                   /* it begins from the lines that were found before */
} strategies[] = {
    {corrected_limit, true, true, true, true},
    {higher_limit, true, false, true, true},
    {raised_limit, false, true, false, true},
    {no_limit_at_all, false, true, true, false},
};

static void search_limits(Driver *driver, int64_t line_limit) {
  SearchJob *search = driver->search;
  driver->asked = line_limit;
  search_once(driver, line_limit);
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
    const struct Strategy *strategy = &strategies[i];
    int64_t limit = line_limit;
    bool has_budget = search->job->peak_limit_bytes > 0;
    for (uint32_t number = 0; has_budget || !strategy->needs_budget; number++) {
      bool is_met = driver->best.figures.taken.is_met;
      bool is_wanted = is_met ? strategy->is_for_met : strategy->is_for_missed;
      if (!is_wanted || !search_job_may_go_on(search)) break;
      limit = strategy->next(driver, number, limit);
      if (limit == NO_LIMIT) break;
      if (strategy->is_near) {
        search_near(driver, limit);
      } else {
        search_once(driver, limit);
      }
    }
  }
}

/* ---- what searches begin from ---- */

static int64_t line_limit_of(const SearchJob *search) {
  int64_t line_limit = search->job->peak_limit_bytes - search->difference_bytes;
  return line_limit < 1 ? 1 : line_limit;
}

/* Searches with a small part of the steps. Returns the limit for a long search: higher by what the
 * model leaves below the budget. */
static int64_t search_shortly(Driver *driver, int64_t line_limit) {
  SearchJob *search = driver->search;
  Patience part;
  uint64_t num_steps = patience_steps_left(search->job->patience) / SHORT_PART;
  Patience *whole = search_job_take_part(search, num_steps, &part);
  search->rules.is_thorough = false;
  search_once(driver, line_limit);
  search->rules.is_thorough = true;
  search_job_give_back(search, whole);
  int64_t room = search->job->peak_limit_bytes - driver->last.figures.line_peak_bytes;
  return room > 0 ? line_limit + room : line_limit;
}

/* A way to take the memory that parameters leave free, and the limit for lines that goes with it.
 */
typedef struct Lending {
  bool is_held;
  int64_t line_limit;
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
  double when_held = score_promise(driver->last.figures.taken, search->job->peak_limit_bytes);
  Lending other = try_lending(driver, false);
  if (score_promise(driver->last.figures.taken, search->job->peak_limit_bytes) < when_held) {
    Lending swapped = first;
    first = other;
    other = swapped;
  }
  Patience most;
  uint64_t num_steps = patience_steps_left(search->job->patience) / 4 * 3;
  Patience *whole = search_job_take_part(search, num_steps, &most);
  set_lending(driver, first.is_held);
  search_limits(driver, first.line_limit);
  search_job_give_back(search, whole);
  if (!search_job_may_go_on(search)) return;
  set_lending(driver, other.is_held);
  search_limits(driver, other.line_limit);
}

/* Searches from the order that the module was given in. */
static void search_start(Driver *driver) {
  SearchJob *search = driver->search;
  const RematJob *job = search->job;
  bool packs = job->memory_model->traits & RH_TRAIT_PACKS;
  search->difference_bytes = search_job_difference(search);
  if (packs && job->peak_limit_bytes > 0 && search->difference_bytes < 0) {
    search_lent(driver);
  } else {
    search_limits(driver, job->peak_limit_bytes > 0 ? line_limit_of(search) : 0);
  }
}

/* Searches from another order of the module as it was given. Dead code goes, as it does when a line
 * is applied: a result may be this order alone. */
static void search_other_start(Driver *driver, const RematState *given, const Schedule *start,
                               Arena *out) {
  SearchJob *search = driver->search;
  keep_best(driver);
  remat_state_load(search->job, given);
  *search->job->schedule = *start;
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
  return best.is_met && best.seconds - given_seconds <= given_seconds / NEARLY_FREE;
}

/* The steps for the order that the module has: those by its size. What small modules have besides
 * is for another order. */
static uint64_t steps_for_given(const RematJob *job) {
  return patience_steps_by_size(patience_effort(job->patience), job->rewrite->module->insts.len,
                                job->parameters);
}

void drive_search(SearchJob *search) {
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  RematState given = remat_state_save(job, arena);
  uint64_t num_steps = patience_steps_left(job->patience), num_own = steps_for_given(job);
  Schedule start;
  bool has_start = !job->options->keep_order && num_own < num_steps &&
                   start_find(job, &start, arena, search->scratch);
  double given_seconds = has_start ? remat_state_seconds(job, search->scratch) : 0;
  Driver driver = {.search = search, .before = given, .is_fresh = true};
  Patience most;
  Patience *whole = search_job_take_part(search, has_start ? num_own : num_steps, &most);
  search_start(&driver);
  search_job_give_back(search, whole);
  bool goes_on =
      has_start && search_job_may_go_on(search) && !is_nearly_free(&driver, given_seconds);
  if (goes_on) search_other_start(&driver, &given, &start, arena);
  if (driver.best_is_last) {
    *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  } else {
    search_job_restore(search, &driver.best.state, driver.best.num_steps);
  }
  arena_free(driver.best.arena);
  arena_free(arena);
}
