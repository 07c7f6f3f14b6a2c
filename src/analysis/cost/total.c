/* Sums over all instructions that run, and how often they run.
 *
 * The figures compare one order or one recomputation with another on the same module. They do not
 * predict execution time: nothing overlaps here, and only the module's own fusions are fused. */
#include <float.h>

#include "analysis/flow/call_graph.h"
#include "analysis/cost/cost_internal.h"

static void add_weighted(WeightedCost *sum, WeightedCost cost, double weight) {
  sum->flops += cost.flops * weight;
  sum->transcendentals += cost.transcendentals * weight;
  sum->bytes += cost.bytes * weight;
  sum->seconds += cost.seconds * weight;
  sum->estimated_seconds += cost.estimated_seconds * weight;
  sum->measured_seconds += cost.measured_seconds * weight;
}

typedef struct Weighing {
  const Module *module;
  const CostTable *table;
  const DeviceProfile *profile;
  double default_trips;
  WeightedCost *comps; /* by CompId */
  Arena *scratch;
} Weighing;

static WeightedCost own_cost(const Weighing *weighing, InstId id) {
  Cost cost = cost_of_inst_known(weighing->module, weighing->table, id, weighing->scratch);
  ModelledTime time = {0};
  if (weighing->profile) {
    time = cost_time(weighing->module, weighing->table, weighing->profile, id);
  }
  return (WeightedCost){.flops = (double)cost.flops,
                        .transcendentals = (double)cost.transcendentals,
                        .bytes = (double)cost.bytes,
                        .seconds = time.seconds,
                        .estimated_seconds = time.source == TIME_ESTIMATED ? time.seconds : 0,
                        .measured_seconds = time.source == TIME_MEASURED ? time.seconds : 0};
}

static double trip_count(const Weighing *weighing, InstId id) {
  int64_t trips = id < weighing->table->num_insts ? weighing->table->trip_counts[id]
                                                  : while_trip_count(weighing->module, id);
  return trips < 0 ? weighing->default_trips : (double)trips;
}

/* The branch that takes longest; of equal ones the one with the most flops; of those the first.
 * NO_ID when there is none. */
static CompId costliest_branch(const Weighing *weighing, InstId id) {
  CompId found = NO_ID;
  WeightedCost best = {.seconds = -DBL_MAX};
  for (uint32_t i = 0; i < inst_get(weighing->module, id)->num_callees; i++) {
    CompId comp = inst_callees(weighing->module, id)[i];
    WeightedCost branch = weighing->comps[comp];
    if (branch.seconds > best.seconds ||
        (branch.seconds == best.seconds && branch.flops > best.flops)) {
      best = branch;
      found = comp;
    }
  }
  return found;
}

/* Visits the computations that an instruction runs, with the number of times it runs each. False
 * when the instruction counts as one, together with its callees. */
typedef void (*VisitCallee)(void *context, CompId callee, double runs);

static bool visit_callees(const Weighing *weighing, InstId id, VisitCallee visit, void *context) {
  const Instruction *inst = inst_get(weighing->module, id);
  const CompId *callees = inst_callees(weighing->module, id);
  if (inst->num_callees == 0) return false;
  switch (inst->opcode) {
    case OPCODE_CALL:
    case OPCODE_ASYNC_START: visit(context, callees[0], 1); return true;
    case OPCODE_WHILE:
      for (uint32_t i = 0; i < inst->num_callees; i++)
        visit(context, callees[i], trip_count(weighing, id));
      return true;
    case OPCODE_CONDITIONAL: {
      CompId branch = costliest_branch(weighing, id);
      if (branch != NO_ID) visit(context, branch, 1);
      return true;
    }
    default: return false;
  }
}

typedef struct CompSum {
  const Weighing *weighing;
  WeightedCost *sum;
} CompSum;

static void add_callee(void *context, CompId callee, double runs) {
  CompSum *sum = context;
  add_weighted(sum->sum, sum->weighing->comps[callee], runs);
}

typedef struct CompRuns {
  double *of; /* by CompId */
  double of_caller;
} CompRuns;

static void add_runs(void *context, CompId callee, double runs) {
  CompRuns *comp_runs = context;
  comp_runs->of[callee] += comp_runs->of_caller * runs;
}

/* Weighs all computations, callees before callers; returns this order. */
static const CompId *weigh(Weighing *weighing) {
  const Module *module = weighing->module;
  const CompId *order = comps_post_order(module, weighing->scratch, weighing->scratch);
  for (uint32_t i = 0; i < module->comps.len; i++) {
    CompSum sum = {weighing, &weighing->comps[order[i]]};
    for (uint32_t k = 0; k < comp_num_insts(module, order[i]); k++) {
      InstId id = comp_inst(module, order[i], k);
      if (inst_get(module, id)->flags & INST_DEAD) continue;
      bool is_one = !visit_callees(weighing, id, add_callee, &sum);
      if (is_one) add_weighted(sum.sum, own_cost(weighing, id), 1);
    }
  }
  return order;
}

static Weighing weighing_new(const Module *module, const CostTable *table,
                             const DeviceProfile *profile, int64_t default_trip_count,
                             Arena *scratch) {
  return (Weighing){.module = module,
                    .table = table,
                    .profile = profile,
                    .default_trips = (double)default_trip_count,
                    .comps = arena_zarray(scratch, WeightedCost, module->comps.len),
                    .scratch = scratch};
}

WeightedCost cost_total_weighted(const Module *module, const CostTable *table,
                                 const DeviceProfile *profile, int64_t default_trip_count,
                                 Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Weighing weighing = weighing_new(module, table, profile, default_trip_count, scratch);
  weigh(&weighing);
  WeightedCost total = weighing.comps[module->entry];
  arena_reset(scratch, mark);
  return total;
}

double *cost_runs(const Module *module, const CostTable *table, const DeviceProfile *profile,
                  int64_t default_trip_count, Arena *out, Arena *scratch) {
  Arena *inner = arena_new(arena_options(scratch));
  Weighing weighing = weighing_new(module, table, profile, default_trip_count, inner);
  const CompId *order = weigh(&weighing);
  CompRuns runs = {.of = arena_zarray(out, double, module->comps.len)};
  runs.of[module->entry] = 1;
  for (uint32_t i = module->comps.len; i-- > 0;) { /* callers first */
    runs.of_caller = runs.of[order[i]];
    if (runs.of_caller == 0) continue;
    for (uint32_t k = 0; k < comp_num_insts(module, order[i]); k++) {
      InstId id = comp_inst(module, order[i], k);
      if (!(inst_get(module, id)->flags & INST_DEAD)) visit_callees(&weighing, id, add_runs, &runs);
    }
  }
  arena_free(inner);
  return runs.of;
}

/* Callees are not visited here, they are instructions of their own computation. */
static void ignore_callee(void *context, CompId callee, double runs) {
  (void)context, (void)callee, (void)runs;
}

void cost_visit_runs(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, VisitRun visit, void *context, Arena *scratch) {
  const double *runs = cost_runs(module, table, profile, default_trip_count, scratch, scratch);
  Weighing weighing = {.module = module,
                       .table = table,
                       .default_trips = (double)default_trip_count,
                       .comps = arena_zarray(scratch, WeightedCost, module->comps.len)};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (runs[comp] == 0) continue;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      if (inst_get(module, id)->flags & INST_DEAD) continue;
      if (!visit_callees(&weighing, id, ignore_callee, NULL)) visit(context, id, runs[comp]);
    }
  }
}
