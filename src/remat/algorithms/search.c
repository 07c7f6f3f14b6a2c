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
#include "remat/search/driver.h"

/* Searches from the module as it is now. */
static void search_module(SearchJob *search) {
  search->num_steps = 0;
  search->num_comps = 0;
  search->holds_lent = search->job->memory_model->traits & RH_TRAIT_PACKS;
  search_job_analyze(search);
  drive_search(search);
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
  return (Outcome){.score = remat_state_score(job, search->scratch),
                   .num_steps = search->num_steps,
                   .state = remat_state_save(job, arena),
                   .arena = arena};
}

/* Searches with a part of the steps that are left. */
static void search_with_part(SearchJob *search, uint64_t divisor) {
  Patience part;
  uint64_t num_steps = patience_steps_left(search->job->patience) / divisor;
  Patience *whole = search_job_take_part(search, num_steps, &part);
  search_module(search);
  search_job_give_back(search, whole);
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
  Patience part;
  Patience *whole = search_job_take_part(search, num_steps, &part);
  Arena *arena = arena_new(arena_options(search->scratch));
  CompactShapes forms =
      compact_shapes_build(search->job, search_sizes(search->job), arena, search->scratch);
  search->forms = &forms;
  search_module(search);
  search->forms = NULL;
  search->job->patience = whole;
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
