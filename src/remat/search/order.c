#include "remat/search/order.h"

/* ---- a line as a sequence ---- */

typedef struct Placing {
  const Module *module;
  Sequence sequence;
  bool *is_placed; /* by InstId */
  IdVec stack;
  Arena *arena;
} Placing;

static bool push_missing(Placing *placing, InstId id) {
  if (placing->is_placed[id]) return false;
  *vec_push(placing->arena, &placing->stack) = id;
  return true;
}

/* Places an instruction behind what it reads and waits for. What lines leave out comes only then:
 * bitcasts, get-tuple-elements, and tuples of which everything is taken out again. */
static void place(Placing *placing, InstId first) {
  const Module *module = placing->module;
  (void)push_missing(placing, first);
  while (placing->stack.len) {
    InstId id = placing->stack.data[placing->stack.len - 1];
    bool is_ready = true;
    if (!placing->is_placed[id]) {
      IdList before = inst_control(module, id)->predecessors;
      for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
        is_ready &= !push_missing(placing, inst_operand(module, id, i));
      for (uint32_t i = 0; i < before.len; i++)
        is_ready &= !push_missing(placing, id_list(module, before)[i]);
    }
    if (!is_ready) continue;
    placing->stack.len--;
    if (placing->is_placed[id]) continue;
    placing->is_placed[id] = true;
    placing->sequence.ids[placing->sequence.len++] = id;
  }
}

static Sequence sequence_of_line(const Line *line, const Module *module, Sequence given, Arena *out,
                                 Arena *scratch) {
  Placing placing = {.module = module,
                     .sequence = {.ids = arena_array(out, InstId, given.len)},
                     .is_placed = arena_zarray(scratch, bool, module->insts.len),
                     .arena = scratch};
  for (StepId step = 0; step < line->len; step++) {
    InstId id = line->graph->nodes[line->nodes[step]].inst;
    if (id != NO_ID) place(&placing, id);
  }
  for (SchedPos pos = 0; pos < given.len; pos++)
    place(&placing, given.ids[pos]);
  return placing.sequence;
}

/* ---- a module ---- */

/* Returns whether another order has a lower peak. */
static bool reorder(SearchContext *context, CompId comp, int64_t *inner_bytes, Patience *patience,
                    Arena *out, Arena *scratch) {
  Schedule *schedule = context->job->schedule;
  const Module *module = context->job->rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  SearchGraph graph = search_graph_build(context, comp, arena, scratch);
  Line given = line_of_graph(&graph, arena);
  PricedLine best = search_lowest_order(&given, patience, arena, scratch);
  inner_bytes[comp] = best.peak_bytes;
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
  Legality legality = {.module = module,
                       .effects = side_effects_build(module, arena, scratch),
                       .placed = placed_build(module, arena, scratch),
                       .is_kept = arena_zarray(arena, bool, module->insts.len),
                       .num_kept = module->insts.len};
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
