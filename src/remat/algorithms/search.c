/* The search: the order of each computation, and what it recomputes, are decided together.
 *
 * Each computation is a graph (remat/search/graph.h); an order of its nodes in which some run more
 * than once is a line (line.h). A line is hoisted (hoist.h), priced (price.h) and trimmed (trim.h)
 * in several variants, and the best one is applied (apply.h). The memory that called computations
 * need counts where they are called; if the caller alone cannot meet the budget, they are reduced
 * themselves. */
#include "remat/job/algorithm.h"
#include "remat/job/state.h"
#include "remat/search/apply.h"
#include "remat/search/search.h"

enum { MAX_ROUNDS = 3 };

typedef struct SearchJob {
  RematJob *job;
  SearchContext context;
  SearchRules rules;
  RematStats *stats;
  Arena *out, *arena, *scratch;
} SearchJob;

/* What the called computations of each computation need, in their present order; callees first. */
static void measure_inner(SearchJob *search) {
  const CallGraph *calls = &search->context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (!comp_is_sequential(calls, comp) || search->job->schedule->of[comp].len == 0) continue;
    Arena *arena = arena_new(arena_options(search->scratch));
    SearchGraph graph = search_graph_build(&search->context, comp, arena, search->scratch);
    Line line = line_of_graph(&graph, arena);
    search->context.inner_bytes[comp] = line_measure(&line, arena).peak_bytes;
    arena_free(arena);
  }
}

/* What a search for one computation came to. */
typedef struct Found {
  int64_t line_bytes; /* its peak, as lines are measured */
  uint32_t num_steps;
} Found;

static Found search_comp(SearchJob *search, CompId comp, int64_t limit_bytes) {
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchGraph graph = search_graph_build(&search->context, comp, arena, search->scratch);
  Line given = line_of_graph(&graph, arena);
  PricedLine best = limit_bytes == 0 ? search_lowest(&given, &search->rules, search->job->patience,
                                                     arena, search->scratch)
                                     : search_line(&given, limit_bytes, &search->rules,
                                                   search->job->patience, arena, search->scratch);
  Applied applied = line_apply(&best.line, search->job, search->out, search->scratch);
  Found found = {best.peak_bytes, applied.num_clones + applied.num_moved};
  arena_free(arena);
  return found;
}

/* The limit for lines, whose memory is counted a little differently from that of the model: what a
 * search came to tells by how much. */
static void search_entry(SearchJob *search) {
  RematJob *job = search->job;
  CompId entry = job->rewrite->module->entry;
  int64_t limit_bytes = job->peak_limit_bytes;
  RematState before = remat_state_save(job, search->arena);
  int64_t given_bytes = remat_state_peak(job, search->scratch);
  int64_t difference_bytes = given_bytes - search->context.inner_bytes[entry];
  for (int round = 0; round < MAX_ROUNDS; round++) {
    if (round) remat_state_load(job, &before);
    int64_t line_limit = limit_bytes > 0 ? limit_bytes - difference_bytes : 0;
    if (limit_bytes > 0 && line_limit < 1) line_limit = 1;
    Found found = search_comp(search, entry, line_limit);
    search->stats->num_steps = found.num_steps;
    int64_t peak_bytes = remat_state_peak(job, search->scratch);
    if (limit_bytes == 0 || peak_bytes <= limit_bytes || found.line_bytes > line_limit) break;
    difference_bytes = peak_bytes - found.line_bytes;
    if (patience_is_over(job->patience)) break;
  }
}

void remat_search(RematJob *job, RematStats *stats, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  SearchJob search = {.job = job,
                      .context = search_context_build(job, arena, scratch),
                      .rules = {.is_thorough = true},
                      .stats = stats,
                      .out = out,
                      .arena = arena,
                      .scratch = scratch};
  measure_inner(&search);
  search_entry(&search);
  *job->schedule = schedule_copy(job->schedule, job->rewrite->module, out);
  arena_free(arena);
}
