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

static void search_comp(SearchJob *search, CompId comp, int64_t limit_bytes) {
  Arena *arena = arena_new(arena_options(search->scratch));
  SearchGraph graph = search_graph_build(&search->context, comp, arena, search->scratch);
  Line given = line_of_graph(&graph, arena);
  PricedLine best =
      limit_bytes == 0
          ? search_lowest(&given, &search->rules, search->job->patience, arena, search->scratch)
          : search_line(&given, limit_bytes, &search->rules, search->job->patience, arena,
                        search->scratch);
  Applied applied = line_apply(&best.line, search->job, search->out, search->scratch);
  search->stats->num_steps += applied.num_clones + applied.num_moved;
  search->context.inner_bytes[comp] = best.peak_bytes;
  arena_free(arena);
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
  CompId entry = job->rewrite->module->entry;
  measure_inner(&search);
  int64_t limit_bytes = 0;
  if (job->peak_limit_bytes > 0) {
    int64_t model_bytes = remat_state_peak(job, scratch);
    limit_bytes = job->peak_limit_bytes - (model_bytes - search.context.inner_bytes[entry]);
    if (limit_bytes < 1) limit_bytes = 1;
  }
  search_comp(&search, entry, limit_bytes);
  arena_free(arena);
}
