#include "remat/search/order.h"

#include "ir/placing.h"
#include "remat/search/hoist.h"
#include "remat/search/trial.h"

/* Steps of all orders of a line that are tried. */
enum { MOST_ORDERED = 3000000 };

/* ---- one computation ---- */

/* The best of all orders under one limit, and of it with less excess. Returns whether one fits.
 * Patience counts moves, which are few in some large modules; so orders are counted, too. */
static bool try_orders_alone(const Goal *goal, const Line *given, KeptLines *kept,
                             uint32_t *num_orders_left, Patience *patience, Arena *scratch) {
  static const HoistRules again = {
      .moves_cones = true, .is_tolerant = true, .frees_sources = true, .num_sweeps = 2};
  for (uint32_t number = 1; number < NUM_ORDER_RULES; number++) {
    if (*num_orders_left == 0 || patience_is_over(patience)) break;
    --*num_orders_left;
    Arena *arena = arena_new(arena_options(scratch));
    bool is_new;
    Line order = trial_make_order(goal, given, number, patience, &is_new, arena, scratch);
    for (int pass = 0; is_new && pass < 2; pass++) {
      if (pass) order = hoist(&order, goal->limit_bytes, &again, patience, arena, scratch);
      ScoredLine found = scored_measure(&order, goal->limit_bytes, arena);
      kept_add(kept, &found);
    }
    arena_free(arena);
    if (kept_best(kept)->score.bytes <= goal->limit_bytes) return true;
  }
  return false;
}

/* The line of the lowest peak found that runs each node once, as the line given must do. */
static ScoredLine find_lowest(const Line *given, Patience *patience, Arena *out, Arena *scratch) {
  static const SearchRules rules = {.is_thorough = true};
  Goal goal = {.limit_bytes = INT64_MAX, .rules = &rules};
  KeptLines kept = {.by = KEPT_BY_PEAK, .scratch = scratch};
  ScoredLine unchanged = scored_measure(given, INT64_MAX, scratch);
  kept_add(&kept, &unchanged);
  int64_t low = given->graph->held_bytes;
  uint32_t num_orders_left = MOST_ORDERED / (given->len + 1) + 1;
  for (int i = 0; i < given->graph->parameters->search_halvings && num_orders_left > 0 &&
                  !patience_is_over(patience);
       i++) {
    int64_t high = kept_best(&kept)->score.bytes;
    if (low >= high) break;
    goal.limit_bytes = low + (high - low) / 2;
    if (!try_orders_alone(&goal, given, &kept, &num_orders_left, patience, scratch))
      low = goal.limit_bytes;
  }
  ScoredLine best = *kept_best(&kept);
  best.line = line_copy(&best.line, out);
  kept_free(&kept);
  return best;
}

/* ---- a line as a sequence ---- */

/* A PlacingNeedsFn: what an instruction reads and waits for. What lines leave out is placed only by
 * this: bitcasts, get-tuple-elements, and tuples of which everything is taken out again. */
static void need_before(void *context, uint32_t id, Placing *placing) {
  const Module *module = context;
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
    placing_need(placing, inst_operand(module, id, i));
  for (uint32_t i = 0; i < before.len; i++)
    placing_need(placing, id_list(module, before)[i]);
}

static Sequence sequence_of_line(const Line *line, Module *module, Sequence given, Arena *out,
                                 Arena *scratch) {
  Placing placing = placing_new(module->insts.len, need_before, module, scratch);
  for (StepId step = 0; step < line->len; step++) {
    InstId id = line->graph->nodes[line->nodes[step]].inst;
    if (id != NO_ID) placing_put(&placing, id);
  }
  for (SchedPos pos = 0; pos < given.len; pos++)
    placing_put(&placing, given.ids[pos]);
  Sequence sequence = {.ids = arena_array(out, InstId, placing.len), .len = placing.len};
  if (placing.len) memcpy(sequence.ids, placing.order, placing.len * sizeof *sequence.ids);
  return sequence;
}

/* ---- a module ---- */

/* Returns whether another order has a lower peak. */
static bool reorder(SearchContext *context, CompId comp, int64_t *inner_bytes, Patience *patience,
                    Arena *out, Arena *scratch) {
  Schedule *schedule = context->job->schedule;
  Module *module = context->job->rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  SearchGraph graph = search_graph_build(context, comp, arena, scratch);
  Line given = line_of_graph(&graph, arena);
  ScoredLine best = find_lowest(&given, patience, arena, scratch);
  inner_bytes[comp] = best.score.bytes;
  bool is_new = !line_equals(&best.line, &given);
  if (is_new)
    schedule->of[comp] = sequence_of_line(&best.line, module, schedule->of[comp], out, arena);
  arena_free(arena);
  return is_new;
}

Schedule search_order(Module *module, const Schedule *given, Patience *patience, bool *is_new,
                      Arena *out, Arena *scratch) {
  *is_new = false;
  Arena *arena = arena_new(arena_options(scratch));
  Rewrite rewrite = {.module = module};
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  RematParameters parameters = parameters_default();
  CostTable costs = cost_analyze(module, arena, scratch);
  Legality legality = legality_new(module, arena, scratch);
  Schedule schedule = schedule_copy(given, module, out);
  RematJob job = {.rewrite = &rewrite,
                  .schedule = &schedule,
                  .options = &options,
                  .parameters = &parameters,
                  .memory_model = memory_model_find("heap"),
                  .legality = &legality,
                  .costs = &costs,
                  .patience = patience};
  SearchContext context = search_context_build(&job, arena, scratch);
  int64_t *inner_bytes = arena_zarray(arena, int64_t, module->comps.len);
  context.inner_bytes = inner_bytes;
  context.holds_lent = true;
  const CallGraph *calls = &context.values.graph;
  for (uint32_t i = 0; i < calls->num_reachable; i++) {
    CompId comp = calls->post_order[i];
    if (comp_is_sequential(calls, comp) && schedule.of[comp].len)
      *is_new |= reorder(&context, comp, inner_bytes, patience, out, scratch);
  }
  arena_free(arena);
  return schedule;
}
