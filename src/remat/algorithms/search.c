/* The search: the order of each computation, and what it recomputes, are decided together.
 *
 * Each computation is a graph (remat/search/graph.h); an order of its nodes in which some run more
 * than once is a line (line.h). A line is hoisted (hoist.h), priced (price.h) and trimmed (trim.h)
 * in several variants, and the best one is applied (apply.h). The memory that called computations
 * need counts where they are called; if the caller alone cannot meet the budget, they are reduced
 * themselves. Small modules are searched from a second order as well (start.h), and the better
 * result is taken.
 *
 * Where values may be kept in other forms (compressed, narrowed, on the host), the copies are
 * priced as recomputations are (forms.h). Besides, XLA's pass chooses some that free a part of what
 * is missing, and the search goes on from there: once for the whole, once for a half. The best of
 * these and of the search alone is taken. */
#include "remat/job/algorithm.h"
#include "remat/rewrite/dce.h"
#include "remat/search/job.h"
#include "remat/search/start.h"

enum {
  MAX_LIMITS = 8,    /* for lines of the entry, until one meets the budget */
  FEW_LIMITS = 4,    /* when one does, for another one that costs less */
  LEAST_GAP = 100,   /* between limits, as a part of the budget */
  SHORT_PART = 8,    /* of the steps, for a short search */
  NEARLY_FREE = 100, /* part of the time that is to be added for another one to be tried */
};

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
  search_job_analyze(search);
  search->num_steps = 0;
  entry->is_fresh = true;
}

static void search_entry_once(Entry *entry, int64_t line_limit) {
  SearchJob *search = entry->search;
  RematJob *job = search->job;
  if (!entry->is_fresh) begin_again(entry);
  entry->is_fresh = false;
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
  entry->last = result;
  entry->best_is_last =
      entry->num_results++ == 0 || score_is_better(result.figures.taken, entry->best.figures.taken);
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
  for (int i = 1; i < (entry->best.figures.taken.is_met ? FEW_LIMITS : MAX_LIMITS); i++) {
    bool has_reached = entry->last.figures.line_bytes <= line_limit;
    if (!has_reached || !search_job_may_go_on(entry->search)) break;
    line_limit = next_limit(&entry->last.figures, limit_bytes, &too_high, &low_enough, &num_failed);
    if (line_limit == 0) break;
    search_entry_near(entry, line_limit);
    if (entry->best.figures.taken.is_met && !entry->best_is_last) break; /* it has gained nothing */
  }
}

/* Packing may need less for a line that needs more, if it wastes more than in the order given. */
static void raise_limit(Entry *entry) {
  static const double factors[] = {1.02, 1.05, 1.1, 1.2};
  int64_t lowest = entry->last.figures.line_bytes, last = 0;
  if (entry->last.figures.line_peak_bytes - lowest <= entry->search->difference_bytes) return;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    if (entry->best.figures.taken.is_met || !search_job_may_go_on(entry->search)) break;
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
    if (!entry->best.figures.taken.is_met || !is_quick || !search_job_may_go_on(entry->search))
      break;
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
  if (limit_bytes > 0 && entry->best.figures.taken.is_met) try_higher_limits(entry, line_limit);
  if (!entry->best.figures.taken.is_met) raise_limit(entry);
  if (!entry->best.figures.taken.is_met && limit_bytes > 0 && search_job_may_go_on(entry->search))
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
  search->difference_bytes = is_held ? 0 : search_job_difference(search);
}

static Lending try_lending(Entry *entry, bool is_held) {
  set_lending(entry, is_held);
  return (Lending){is_held, search_shortly(entry, line_limit_of(entry->search))};
}

/* Where memory is packed, one value at a time can use what a parameter leaves free before a result
 * takes it. Lines take that as held, or as free. Neither is exact: what a short search says is
 * nearer to the model gets most of the steps, and the other one the rest. */
static void search_lent(Entry *entry) {
  SearchJob *search = entry->search;
  Lending first = try_lending(entry, true);
  double when_held = score_promise(entry->last.figures.taken, search->job->peak_limit_bytes);
  Lending other = try_lending(entry, false);
  if (score_promise(entry->last.figures.taken, search->job->peak_limit_bytes) < when_held) {
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
  if (!search_job_may_go_on(search)) return;
  set_lending(entry, other.is_held);
  search_limits(entry, other.line_limit);
}

/* Searches from the order that the module has when `entry` is fresh. */
static void search_start(Entry *entry) {
  SearchJob *search = entry->search;
  const RematJob *job = search->job;
  bool packs = job->memory_model->traits & RH_TRAIT_PACKS;
  search->difference_bytes = search_job_difference(search);
  if (packs && job->peak_limit_bytes > 0 && search->difference_bytes < 0) {
    search_lent(entry);
  } else {
    search_limits(entry, job->peak_limit_bytes > 0 ? line_limit_of(search) : 0);
  }
}

/* Searches from another order of the module as it was given. Dead code goes, as it does when a line
 * is applied: a result may be this order alone. */
static void search_other_start(Entry *entry, const RematState *given, const Schedule *start,
                               Arena *out) {
  SearchJob *search = entry->search;
  keep_best(entry);
  remat_state_load(search->job, given);
  *search->job->schedule = *start;
  dce_run(search->job->rewrite, search->scratch);
  dce_update_schedule(search->job->rewrite->module, search->job->schedule, out);
  entry->before = remat_state_save(search->job, out);
  search->unmet_comp = NO_ID;
  search->holds_lent = search->job->memory_model->traits & RH_TRAIT_PACKS;
  begin_again(entry);
  search_start(entry);
}

static bool is_nearly_free(const Entry *entry, double given_seconds) {
  Score best = entry->best.figures.taken;
  return best.is_met && best.seconds - given_seconds <= given_seconds / NEARLY_FREE;
}

/* The steps for the order that the module has: those by its size. What small modules have besides
 * is for another order. */
static uint64_t steps_for_given(const RematJob *job) {
  return patience_steps_by_size(patience_effort(job->patience), job->rewrite->module->insts.len,
                                job->parameters);
}

/* Searches the entry for what costs least under the budget, or else for the lowest peak. What that
 * comes to depends on the order that it begins with, the more so the tighter the budget is. */
static void search_entry(SearchJob *search) {
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  RematState given = remat_state_save(job, arena);
  Patience *whole = job->patience;
  uint64_t num_steps = patience_steps_left(whole), num_own = steps_for_given(job);
  Schedule start;
  bool has_start = !job->options->keep_order && num_own < num_steps &&
                   start_find(job, &start, arena, search->scratch);
  double given_seconds = has_start ? remat_state_seconds(job, search->scratch) : 0;
  Entry entry = {.search = search, .before = given, .is_fresh = true};
  Patience most = patience_part(whole, has_start ? num_own : num_steps);
  job->patience = &most;
  search_start(&entry);
  job->patience = whole;
  patience_join(whole, &most);
  bool goes_on =
      has_start && search_job_may_go_on(search) && !is_nearly_free(&entry, given_seconds);
  if (goes_on) search_other_start(&entry, &given, &start, arena);
  if (entry.best_is_last) {
    *job->schedule = schedule_copy(job->schedule, job->rewrite->module, search->out);
  } else {
    search_job_restore(search, &entry.best.state, entry.best.num_steps);
  }
  arena_free(entry.best.arena);
  arena_free(arena);
}

/* Searches from the module as it is now. */
static void search_module(SearchJob *search) {
  search->num_steps = 0;
  search->num_comps = 0;
  search->holds_lent = search->job->memory_model->traits & RH_TRAIT_PACKS;
  search_job_analyze(search);
  search_entry(search);
}

/* ---- other forms ---- */

/* What a search has come to, with some values in other forms or none. */
typedef struct Outcome {
  Score score; /* of the module */
  uint32_t num_steps;
  RematState state;
  Arena *arena; /* of the state */
} Outcome;

static Outcome outcome_of(const SearchJob *search) {
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  int64_t peak_bytes = remat_state_peak(job, search->scratch);
  return (Outcome){.score = {.is_met = peak_bytes <= job->peak_limit_bytes,
                             .peak_bytes = peak_bytes,
                             .seconds = remat_state_seconds(job, search->scratch)},
                   .num_steps = search->num_steps,
                   .state = remat_state_save(job, arena),
                   .arena = arena};
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
  bool is_best = score_is_better(outcome.score, best->score);
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
  bool has_lost_time = !best.score.is_met || best.score.seconds > before_seconds;
  if (has_lost_time && !patience_is_stopped(job->patience)) {
    remat_state_load(job, &before);
    search_with_priced_forms(search, half_of_steps);
    keep_outcome(&best, outcome_of(search));
  }
  search_job_restore(search, &best.state, best.num_steps);
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
