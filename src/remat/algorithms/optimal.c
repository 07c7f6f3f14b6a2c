/* The least added time in the order that is given: what the entry computation recomputes is the
 * best solution of an integer program (remat/exact). Each begins with what `search` finds without
 * moving anything, which a solution has to beat. No result is worse than that of `search`.
 *
 * A program bounds what lives at one time. Where the job's model counts more, since it packs
 * buffers, the next program gets a lower limit, until one meets the budget; limits between that one
 * and the last that did not are then tried, as a lower limit may have been lower than needed. When
 * the solver dies, the best result until then is taken. */
#include "remat/exact/optimal.h"

#include "remat/job/algorithm.h"
#include "remat/job/state.h"
#include "remat/rewrite/dce.h"
#include "remat/search/apply.h"
#include "remat/search/search.h"

enum {
  NEAR = 512, /* limits that differ by less than this part of the budget are equal */
};

/* The best state of the job so far. */
typedef struct Best {
  RematState state;
  bool is_there;
  Score score; /* as the job's model counts */
  uint32_t num_steps;
} Best;

typedef struct OptimalJob {
  RematJob *job;
  SearchContext context; /* of the module before any change */
  int64_t *inner_bytes;  /* by CompId */
  RematState before;
  Best best;
  Arena *out, *kept, *scratch;
} OptimalJob;

static ScoredLine find_known(OptimalJob *optimal, const Line *given, int64_t limit_bytes,
                             Arena *arena) {
  RematJob *job = optimal->job;
  SearchRules rules = {
      .is_thorough = true, .keeps_order = true, .num_threads = job->options->num_threads};
  Patience half = patience_part(job->patience, patience_steps_left(job->patience) / 2);
  FoundLines found = limit_bytes > 0
                         ? search_line(given, limit_bytes, &rules, &half, arena, optimal->scratch)
                         : search_lowest(given, 0, NULL, &rules, &half, arena, optimal->scratch);
  patience_join(job->patience, &half);
  return *found_best(&found);
}

static rh_status explain(const OptimalJob *optimal, OptimalStatus status) {
  const RematJob *job = optimal->job;
  DiagPlace place = DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET);
  switch (status) {
    case OPTIMAL_NO_SOLVER:
      return diag_fail(job->diags, RH_ERR_USAGE, place,
                       "optimal is not available: it needs the library of CBC "
                       "(libCbcSolver.so.3, of Debian's package coinor-libcbc3); search does not");
    case OPTIMAL_TOO_LARGE:
      return diag_fail(job->diags, RH_ERR_USAGE, place,
                       "optimal is for small modules: the integer program of this one has more "
                       "than %lld columns (--set=optimal.columns=N); use search",
                       (long long)job->parameters->optimal_columns);
    case OPTIMAL_FAILED:
    case OPTIMAL_FOUND:
    case OPTIMAL_LIMITED: break;
  }
  return RH_OK;
}

/* Keeps the state that the job is in if it is the best one, and goes back to the one before.
 * Returns the peak. */
static int64_t try_state(OptimalJob *optimal, uint32_t num_steps) {
  RematJob *job = optimal->job;
  Score score = remat_state_score(job, optimal->scratch);
  if (!optimal->best.is_there || score_is_better(score, optimal->best.score)) {
    optimal->best = (Best){.state = remat_state_save(job, optimal->kept),
                           .is_there = true,
                           .score = score,
                           .num_steps = num_steps};
  }
  remat_state_load(job, &optimal->before);
  return score.bytes;
}

/* Applies a line, and tries what that leads to. Returns the peak. */
static int64_t try_line(OptimalJob *optimal, const ScoredLine *scored) {
  RematJob *job = optimal->job;
  Applied applied = line_apply(&scored->line, job, optimal->out, optimal->scratch);
  uint32_t num_steps = applied.num_clones + applied.num_moved;
  if (num_steps) {
    dce_run(job->rewrite, optimal->scratch);
    dce_update_schedule(job->rewrite->module, job->schedule, optimal->out);
  }
  return try_state(optimal, num_steps);
}

/* What a program led to. */
typedef struct Solved {
  int64_t line_bytes; /* the peak of the line */
  int64_t peak_bytes; /* as the job's model counts */
  bool fits;          /* the line is within the limit of lines */
  bool has_failed;    /* the solver gave no answer: probably it never will */
  SolverEnd end;
} Solved;

/* The graph of the entry computation before any change. */
static SearchGraph build_graph(OptimalJob *optimal, Arena *arena) {
  optimal->context = search_context_build(optimal->job, arena, optimal->scratch);
  optimal->context.inner_bytes = optimal->inner_bytes;
  search_measure_callees(&optimal->context, optimal->inner_bytes, 0, optimal->scratch);
  SearchGraph graph = search_graph_build(&optimal->context, optimal->job->rewrite->module->entry,
                                         arena, optimal->scratch);
  line_find_copied_reads(&graph, optimal->scratch);
  return graph;
}

/* What `search` comes to by itself, which packs what it finds. It is the result when time is up, or
 * when no program leads to a better one. */
static void search_first(OptimalJob *optimal) {
  RematJob *job = optimal->job;
  rh_remat_options options = *job->options;
  options.keep_order = true;
  Patience half = patience_part(job->patience, patience_steps_left(job->patience) / 2);
  RematJob alone = *job;
  alone.options = &options;
  alone.patience = &half;
  RematStats stats = {0};
  remat_search(&alone, &stats, optimal->out, optimal->scratch);
  patience_join(job->patience, &half);
  (void)try_state(optimal, (uint32_t)stats.num_steps);
}

/* Solves the entry computation for a limit of lines, 0 for the lowest that `search` finds. */
static rh_status solve(OptimalJob *optimal, int64_t limit_bytes, Solved *solved) {
  RematJob *job = optimal->job;
  Arena *arena = arena_new(arena_options(optimal->scratch)), *scratch = optimal->scratch;
  SearchGraph graph = build_graph(optimal, arena);
  Line given = line_of_graph(&graph, arena);
  ScoredLine known = find_known(optimal, &given, limit_bytes, arena);
  int64_t solved_bytes = limit_bytes > 0 ? limit_bytes : known.score.bytes;
  known.score.is_met = known.score.bytes <= solved_bytes;
  OptimalRules rules = optimal_rules(job->parameters, patience_effort(job->patience));
  rules.keeps_places = job->options->keep_order || !job->parameters->optimal_later;
  OptimalLine found = {known, OPTIMAL_LIMITED, {0}};
  if (!patience_is_stopped(job->patience))
    found = optimal_line(&given, &known, solved_bytes, &rules, job->patience, arena, scratch);
  rh_status status = explain(optimal, found.status);
  if (status == RH_OK) {
    *solved = (Solved){.line_bytes = found.scored.score.bytes,
                       .peak_bytes = try_line(optimal, &found.scored),
                       .fits = found.scored.score.is_met,
                       .has_failed = found.status == OPTIMAL_FAILED,
                       .end = found.end};
    (void)try_line(optimal, &known);
  }
  arena_free(arena);
  return status;
}

/* Solves for lower and lower limits until the budget is met, and then for those between. The first
 * ones are just below the peak of the line that missed it: for all limits from there on it is the
 * best line. Later ones are lower by what the budget was missed by. */
static rh_status solve_all(OptimalJob *optimal, int64_t first_bytes, RematStats *stats) {
  RematJob *job = optimal->job;
  int64_t num_limits = job->parameters->optimal_limits;
  /* From `high_bytes` on the budget is missed; at `low_bytes` it is met, or there is no line. */
  int64_t limit_bytes = first_bytes, low_bytes = 0, high_bytes = first_bytes + 1;
  for (int64_t i = 0; i < num_limits; i++) {
    Solved solved;
    rh_status status = solve(optimal, limit_bytes, &solved);
    if (status != RH_OK) return status;
    int64_t over_bytes = solved.peak_bytes - job->peak_limit.bytes;
    if (solved.has_failed) {
      stats->solver_end = solved.end;
      break;
    }
    if (first_bytes == 0 || patience_is_stopped(job->patience)) break;
    if (over_bytes <= 0 || !solved.fits) {
      low_bytes = limit_bytes;
    } else {
      high_bytes = solved.line_bytes;
    }
    if (high_bytes - low_bytes < job->peak_limit.bytes / NEAR) break;
    if (low_bytes > 0) {
      limit_bytes = low_bytes + (high_bytes - low_bytes) / 2;
    } else {
      limit_bytes = i < num_limits / 4 ? high_bytes - 1 : limit_bytes - over_bytes;
      if (limit_bytes >= high_bytes) limit_bytes = high_bytes - 1;
    }
    if (limit_bytes < 1) break;
  }
  return RH_OK;
}

void remat_optimal(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  OptimalJob optimal = {.job = job,
                        .inner_bytes = arena_zarray(out, int64_t, job->rewrite->module->comps.len),
                        .out = out,
                        .kept = arena_new(arena_options(scratch)),
                        .scratch = scratch};
  Arena *arena = arena_new(arena_options(scratch));
  optimal.before = remat_state_save(job, optimal.kept);
  optimal.context = search_context_build(job, arena, scratch);
  optimal.context.inner_bytes = optimal.inner_bytes;
  search_measure_callees(&optimal.context, optimal.inner_bytes, 0, scratch);
  /* Lines may count more than the model; where they count less, packing is left out at first. */
  int64_t line_bytes = optimal.inner_bytes[job->rewrite->module->entry];
  int64_t more_bytes = line_bytes - remat_state_peak(job, scratch);
  arena_free(arena);
  int64_t first_bytes = job->peak_limit.bytes;
  if (first_bytes > 0 && more_bytes > 0) first_bytes += more_bytes;
  search_first(&optimal);
  stats->status = solve_all(&optimal, first_bytes, stats);
  if (stats->status == RH_OK && optimal.best.is_there) {
    remat_state_load(job, &optimal.best.state);
    stats->num_steps = optimal.best.num_steps;
  }
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, out);
  arena_free(optimal.kept);
}
