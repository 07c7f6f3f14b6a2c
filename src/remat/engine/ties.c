#include "remat/engine/ties.h"

#include "remat/search/graph.h"

/* The public kind of each tie. */
static const rh_tie kinds[NUM_TIES] = {[TIE_LOOP] = RH_TIE_LOOP,
                                       [TIE_BRANCH] = RH_TIE_BRANCH,
                                       [TIE_DONATED] = RH_TIE_DONATED,
                                       [TIE_IN_PLACE] = RH_TIE_IN_PLACE};

static bool chooses_order(const Problem *problem) {
  return problem->has_copies && !problem->plan && problem_is_limited(problem) &&
         !problem->options->keep_order && problem->request->algorithm->run == remat_search;
}

static void count_in(const SearchContext *context, CompId comp, rh_remat_result *info,
                     Arena *scratch) {
  const Module *module = context->job->rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  SearchGraph graph = search_graph_build(context, comp, arena, scratch);
  for (NodeId node = 0; node < graph.num_nodes; node++) {
    InstId id = graph.nodes[node].inst;
    if (id == NO_ID || opcode_has((Opcode)inst_get(module, id)->opcode, OPF_FREE)) continue;
    info->num_ordered++;
    if (graph.tie_of[node]) info->num_tied[kinds[graph.tie_of[node]]]++;
  }
  arena_free(arena);
}

void ties_count(const Problem *problem, rh_remat_result *info) {
  if (!chooses_order(problem)) return;
  Arena *arena = arena_new(arena_options(problem->scratch)), *scratch = problem->scratch;
  Module *module = problem->input->module;
  Rewrite rewrite = {.module = module};
  CostTable costs = cost_analyze(module, arena, scratch);
  Legality legality = legality_new(module, arena, scratch);
  Schedule schedule = schedule_copy(&problem->input->schedule, module, arena);
  RematJob job = {.rewrite = &rewrite,
                  .schedule = &schedule,
                  .options = problem->options,
                  .parameters = &problem->parameters,
                  .memory_model = problem->request->memory_model,
                  .legality = &legality,
                  .costs = &costs};
  SearchContext context = search_context_build(&job, arena, scratch);
  context.inner_bytes = arena_zarray(arena, int64_t, module->comps.len);
  const CallGraph *calls = &context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (comp_is_sequential(calls, comp) && schedule.of[comp].len)
      count_in(&context, comp, info, scratch);
  }
  arena_free(arena);
}
