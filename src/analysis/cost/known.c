/* Costs that the user gave for instructions, by a regular expression for their names or, for custom
 * calls, their targets. Instructions in fused computations can get such a cost, too, but the cost
 * of a fusion is the one given for the fusion itself. */
#include "analysis/cost/cost_internal.h"
#include "ir/expression.h"

static bool is_selected(const Module *module, InstId id, const regex_t *expression,
                        Arena *scratch) {
  if (expression_matches(expression, inst_name(module, id), scratch)) return true;
  Str target = inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET);
  return target.len && expression_matches(expression, target, scratch);
}

const KnownCost **cost_find_known(const Module *module, Arena *out, Arena *scratch) {
  if (module->backend.num_costs == 0) return NULL;
  const KnownCost **known = arena_zarray(out, const KnownCost *, module->insts.len);
  for (uint32_t i = 0; i < module->backend.num_costs; i++) {
    const KnownCost *cost = &module->backend.costs[i];
    ArenaMark mark = arena_mark(scratch);
    const regex_t *expression;
    if (expression_new(cost->expression, &expression, NULL, scratch) != RH_OK) continue;
    for (InstId id = 0; id < module->insts.len; id++) {
      if (!known[id] && is_selected(module, id, expression, scratch)) known[id] = cost;
    }
    arena_reset(scratch, mark);
  }
  return known;
}

/* A clone costs as much as its original. */
static const KnownCost *find_known(const Module *module, const CostTable *table, InstId id) {
  InstId known = table->known ? cost_known_inst(module, table, id) : NO_ID;
  return known == NO_ID ? NULL : table->known[known];
}

bool cost_of_known(const Module *module, const CostTable *table, InstId id, Cost *cost) {
  const KnownCost *given = find_known(module, table, id);
  bool is_known = cost_of_custom_call(module, id, cost);
  if (!given) return is_known;
  InstId known = cost_known_inst(module, table, id);
  if (!is_known) *cost = table->of[known];
  if (given->flops >= 0) cost->flops = given->flops;
  if (given->transcendentals >= 0) cost->transcendentals = given->transcendentals;
  if (given->bytes >= 0) cost->bytes = given->bytes;
  if (cost->flops < 0) cost->flops = 0; /* HloCostAnalysis's -1 */
  if (cost->bytes < 0) cost->bytes = cost_default_bytes(module, id);
  return true;
}
