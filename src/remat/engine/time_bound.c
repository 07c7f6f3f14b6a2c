/* The bound is the same for every algorithm, because it only depends on the order of the result:
 * that of the input's instructions where they, or clones of them, run first. Clones are left out,
 * so that the bound covers all other choices of clones in this order, too. */
#include "remat/engine/time_bound.h"

#include "ir/hash.h"
#include "ir/placing.h"
#include "remat/exact/optimal.h"
#include "remat/bound/line_bound.h"

/* Of modules with more instructions, bounds are found from this effort on. */
enum { MAX_INSTS = 200000, EFFORT_FOR_MORE = 5 };

/* ---- order ---- */

/* A PlacingNeedsFn: what a node reads. The result may have done without some of that, such as
 * tuples that bundle values. */
static void need_operands(void *context, NodeId node, Placing *placing) {
  const SearchGraph *graph = context;
  for (uint32_t i = 0; i < graph->nodes[node].num_operands; i++)
    placing_need(placing, node_operand(graph, node, i)->node);
}

/* Places the node of an instruction of this name, if there is one. */
static void place_named(Placing *placing, const SearchGraph *graph, const Module *module,
                        const IdTable *table, Str name) {
  InstId found;
  for (IdProbe probe = id_table_probe(table, hash_str(name)); id_probe_next(&probe, &found);) {
    if (!str_equal(inst_name(module, found), name)) continue;
    NodeId node = node_inst(graph, found)->node;
    if (graph->nodes[node].inst == found) placing_put(placing, node);
  }
}

/* The nodes of the input's entry computation in the order in which they run first in the result. */
static Line line_of_result(SearchGraph *graph, const rh_module *input, const rh_module *result,
                           Arena *arena) {
  const Module *module = input->module, *after = result->module;
  Sequence given = input->schedule.of[module->entry], made = result->schedule.of[after->entry];
  Placing placing = placing_new(graph->num_nodes, need_operands, graph, arena);
  IdTable table = {0};
  for (SchedPos pos = 0; pos < given.len; pos++)
    id_table_add(&table, arena, hash_str(inst_name(module, given.ids[pos])), given.ids[pos]);
  for (SchedPos pos = 0; pos < made.len; pos++) {
    InstId id = made.ids[pos];
    RematMark mark = result->marks ? result->marks[id] : (RematMark){.kind = REMAT_KIND_NONE};
    if (mark.kind == REMAT_KIND_HELPER) continue;
    bool is_own = mark.kind == REMAT_KIND_NONE;
    place_named(&placing, graph, module, &table, is_own ? inst_name(after, id) : mark.original);
  }
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    if (!(graph->nodes[node].flags & NODE_IS_BYPASSED)) placing_put(&placing, node);
  }
  return line_of_nodes(graph, placing.order, placing.len, arena);
}

/* ---- bound ---- */

typedef struct Bounding {
  const Problem *problem;
  SearchContext context;
  const Schedule *schedule;
  int64_t *floor_bytes; /* by CompId: what its run needs in any order */
  Arena *arena;
} Bounding;

/* Finds what called computations need, callees first. What happens inside of them is not part of
 * the bound, so it must not depend on their orders or on what they recompute. */
static void measure_callees(Bounding *bounding) {
  const CallGraph *calls = &bounding->context.values.graph;
  Arena *scratch = bounding->problem->scratch;
  bounding->context.inner_bytes = bounding->floor_bytes;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    bool is_entry = comp == bounding->problem->input->module->entry;
    if (is_entry || !comp_is_sequential(calls, comp) || bounding->schedule->of[comp].len == 0)
      continue;
    Arena *arena = arena_new(arena_options(scratch));
    SearchGraph graph = search_graph_build(&bounding->context, comp, arena, scratch);
    bounding->floor_bytes[comp] = graph_floor_bytes(&graph, scratch);
    arena_free(arena);
  }
}

/* The limit as lines count. A line may count more than the model that judges, which the input
 * shows. Where it counts less, as packing is left out, the bound is lower than it could be. */
static LineLimit line_limit(Bounding *bounding) {
  const Problem *problem = bounding->problem;
  int64_t before_bytes = problem->before.peak_bytes;
  int64_t uncounted_bytes = before_bytes - problem_counted_bytes(problem, &problem->before);
  PeakLimit peak = limit_of_peak(limit_counted(problem->options), uncounted_bytes);
  Arena *arena = arena_new(arena_options(problem->scratch));
  int64_t *inner_bytes = arena_zarray(arena, int64_t, problem->input->module->comps.len);
  bounding->context.inner_bytes = inner_bytes;
  search_measure_callees(&bounding->context, inner_bytes, 0, problem->scratch);
  int64_t more_bytes = inner_bytes[problem->input->module->entry] - before_bytes;
  arena_free(arena);
  return limit_of_line(peak, more_bytes > 0 ? -more_bytes : 0);
}

static double bound_of_order(Bounding *bounding, const rh_module *result, bool is_met,
                             Findings *findings) {
  const Problem *problem = bounding->problem;
  CompId entry = problem->input->module->entry;
  measure_callees(bounding);
  LineLimit limit = line_limit(bounding);
  bounding->context.inner_bytes = bounding->floor_bytes;
  SearchGraph graph =
      search_graph_build(&bounding->context, entry, bounding->arena, problem->scratch);
  Line line = line_of_result(&graph, problem->input, result, bounding->arena);
  double bound = line_time_bound(&line, limit.bytes, problem->patience, problem->scratch);
  bool has_solver = problem->request->algorithm->traits & RH_TRAIT_NEEDS_SOLVER;
  /* To prove that a limit cannot be met takes long. */
  if (!has_solver || !is_met || patience_is_stopped(problem->patience)) return bound;
  if (findings->solver_end.kind) return bound; /* it would fail again */
  OptimalRules rules = optimal_rules(&problem->parameters, patience_effort(problem->patience));
  double exact = optimal_time_bound(&line, limit.bytes, &rules, problem->patience,
                                    &findings->solver_end, problem->scratch);
  return exact > bound ? exact : bound;
}

static bool has_bound(const Problem *problem) {
  CountedLimit limit = limit_counted(problem->options);
  /* What XLA's pass counts is not what lives at one time. */
  bool counts_others = problem->request->memory_model->traits & RH_TRAIT_FREE_PARAMETERS;
  if (!problem_is_limited(problem) || limit.bytes <= 0 || problem->steps || counts_others)
    return false;
  bool is_huge = problem->input->module->insts.len > MAX_INSTS;
  return !is_huge || patience_effort(problem->patience) >= EFFORT_FOR_MORE;
}

void time_bound_find(const Problem *problem, Findings *findings, const rh_module *result,
                     rh_remat_result *info) {
  if (!has_bound(problem)) return;
  Arena *arena = arena_new(arena_options(problem->scratch)), *scratch = problem->scratch;
  Module *module = problem->input->module;
  Rewrite rewrite = {.module = module};
  CostTable costs = cost_analyze(module, arena, scratch);
  Legality legality = legality_new(module, arena, scratch);
  legality.allow_collectives = problem->options->remat_collectives || problem->plan;
  legality.small_node_bytes = problem->plan ? 0 : problem->options->small_node_bytes;
  legality.steering = problem->steering;
  Schedule schedule = schedule_copy(&problem->input->schedule, module, arena);
  Bounding bounding = {.problem = problem,
                       .schedule = &schedule,
                       .floor_bytes = arena_zarray(arena, int64_t, module->comps.len),
                       .arena = arena};
  RematJob job = {.rewrite = &rewrite,
                  .schedule = &schedule,
                  .options = problem->options,
                  .parameters = &problem->parameters,
                  .memory_model = problem->request->memory_model,
                  .device = problem->request->device,
                  .legality = &legality,
                  .costs = &costs};
  bounding.context = search_context_build(&job, arena, scratch);
  info->added_seconds_bound = bound_of_order(&bounding, result, info->is_met, findings);
  info->bound_kind = "this order, originals in place";
  arena_free(arena);
}
