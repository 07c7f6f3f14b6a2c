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
 * these and of the search alone is taken.
 *
 * The files of remat/search, from the outside to the inside:
 *
 *     driver.c       the entry, from several beginnings, as for other budgets, and with more steps
 *     limits.c       the entry, under one limit for lines after the other
 *     tree.c         one computation, and what it calls where that must need less
 *     take.c         which of the lines found is applied: they are measured by the model of the job
 *     computation.c  the lines of one computation, with loops that run again and without
 *     search.c       the lines for one limit, or of the lowest peak, found by trials
 *     trial.c        one trial: an order, and what it recomputes (hoist.c, price.c, mend.c, trim.c)
 *     scored.c       lines with their scores
 *     line.c         orders in which nodes run, and what they need
 *     graph.c        a computation as nodes (context.c: what all of them have in common) */
#include "remat/job/algorithm.h"
#include "remat/job/drive.h"
#include "remat/search/driver.h"

/* ---- other forms ---- */

enum { NUM_SHARES = 2 };

/* Keeps what a search has come to if it is the best so far. The whole module counts: lines do not
 * know what the pass has added. */
static void keep(SearchJob *search, Result *best) {
  search->entry.taken = remat_state_score(search->job, search->scratch);
  (void)search_job_keep(search, best);
}

/* Searches with a part of the steps that are left. */
static void search_with_part(SearchJob *search, uint64_t divisor) {
  Patience part;
  uint64_t num_steps = patience_steps_left(search->job->patience) / divisor;
  Patience *whole = search_job_take_part(search, num_steps, &part);
  drive_search(search);
  search_job_give_back(search, whole);
}

/* Keeps values in other forms until the peak is at most `peak_bytes`. Returns how many there are.
 */
static uint32_t change_forms(SearchJob *search, int64_t peak_bytes) {
  RematJob forms = *search->job;
  RematStats stats = {0};
  forms.modes &= ~(unsigned)RH_REMAT_RECOMPUTE;
  forms.peak_limit.bytes = peak_bytes;
  remat_standard(&forms, &stats, search->out, search->scratch);
  return (uint32_t)stats.num_steps;
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
  drive_search(search);
  search->forms = NULL;
  search->job->patience = whole;
  arena_free(arena);
}

/* Searches with forms of two kinds, and without. */
typedef struct Forms {
  SearchJob *search;
  RematState before;
  Score given;            /* of the module as it was given */
  uint64_t half_of_steps; /* that there were */
  Result best;
} Forms;

/* Lets XLA's pass choose forms that free all of what is missing, then a half of it, and goes on
 * from there. */
static bool try_chosen_forms(void *of, uint32_t number) {
  static const double shares[NUM_SHARES] = {1, 0.5}; /* of what is missing */
  Forms *forms = of;
  SearchJob *search = forms->search;
  RematJob *job = search->job;
  if (patience_is_over(job->patience)) return false;
  remat_state_load(job, &forms->before);
  double missing = (double)(forms->given.bytes - job->peak_limit.bytes) * shares[number];
  if (missing <= 0) return false;
  uint32_t num_changed = change_forms(search, forms->given.bytes - (int64_t)missing);
  if (num_changed == 0) return false;
  search_with_part(search, NUM_SHARES - number);
  search->num_steps += num_changed;
  keep(search, &forms->best);
  return true;
}

static bool try_priced_forms(void *of, uint32_t number) {
  Forms *forms = of;
  RematJob *job = forms->search->job;
  Score best = forms->best.figures.taken;
  (void)number;
  bool has_lost_time = !best.is_met || best.seconds > forms->given.seconds;
  if (!has_lost_time || patience_is_stopped(job->patience)) return false;
  remat_state_load(job, &forms->before);
  search_with_priced_forms(forms->search, forms->half_of_steps);
  keep(forms->search, &forms->best);
  return true;
}

static const Move moves[] = {
    {.most = NUM_SHARES, .try_next = try_chosen_forms},
    {.most = 1, .try_next = try_priced_forms},
};

static void search_with_forms(SearchJob *search) {
  RematJob *job = search->job;
  Arena *arena = arena_new(arena_options(search->scratch));
  Forms forms = {.search = search,
                 .before = remat_state_save(job, arena),
                 .given = remat_state_score(job, search->scratch),
                 .half_of_steps = patience_steps_left(job->patience) / 2};
  search_with_part(search, 2);
  keep(search, &forms.best);
  Drive with_forms = {.of = &forms, .best = &forms.best.figures.taken};
  drive(&with_forms, moves, sizeof moves / sizeof *moves);
  search_job_restore(search, &forms.best.state, forms.best.num_steps);
  result_free(&forms.best);
  arena_free(arena);
}

void remat_search(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  SearchJob search = {.job = job,
                      .unmet_comp = NO_ID,
                      .rules = {.is_thorough = true,
                                .keeps_order = job->options->keep_order,
                                .memo = job->memo,
                                .num_threads = job->options->num_threads},
                      .out = out,
                      .scratch = scratch};
  if (job->modes & ~(unsigned)RH_REMAT_RECOMPUTE) {
    search_with_forms(&search);
  } else {
    drive_search(&search);
  }
  stats->num_steps = search.num_steps;
  if (search.found.arena) arena_free(search.found.arena);
  arena_free(search.arena);
}
