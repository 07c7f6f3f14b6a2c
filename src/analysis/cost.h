/* What an instruction costs: XLA's HloCostAnalysis (xla/service/hlo_cost_analysis.cc) in 64-bit
 * integers instead of its float32 sums, and a roofline that turns it into modelled seconds. */
#ifndef REMAT_HLO_ANALYSIS_COST_H
#define REMAT_HLO_ANALYSIS_COST_H

#include "analysis/device_profile.h"
#include "ir/module.h"

/* Counts saturate at INT64_MAX. XLA gives a custom call -1 for each, "unknown"; so does this. */
typedef struct Cost {
  int64_t flops;
  int64_t transcendentals;
  int64_t bytes; /* accessed */
} Cost;

typedef struct CostTable {
  Cost *of; /* by InstId, as HloCostAnalysis gives it: a call, while, conditional or fusion includes
               its callees, a loop body once */
  int64_t *trip_counts; /* by InstId: of a while, -1 when unknown; 1 for anything else */
} CostTable;

/* Costs of all instructions. O(instructions + operands). */
CostTable cost_analyze(const Module *module, Arena *out, Arena *scratch);

/* The cost of one instruction whose callees' costs are in `table` already; for instructions that were
 * added after cost_analyze (a clone costs what its original does). */
Cost cost_of_inst(const Module *module, const CostTable *table, InstId id, Arena *scratch);

/* Sum over the entry computation: HloCostAnalysis's totals of the module. */
Cost cost_total(const Module *module, const CostTable *table);

typedef struct WeightedCost {
  double flops;
  double transcendentals;
  double bytes;
  double seconds; /* modelled, see cost_seconds */
} WeightedCost;

/* Sum over everything that runs, each loop body and condition times its trip count, fusions as one
 * instruction, the dearest branch of a conditional. `default_trip_count` stands in for unknown ones. */
WeightedCost cost_total_weighted(const Module *module, const CostTable *table,
                                 const DeviceProfile *profile, int64_t default_trip_count,
                                 Arena *scratch);

/* Modelled seconds of one instruction on the device, callees of control flow not included: the
 * roofline max(flops / peak of its type, transcendentals / rate, bytes / bandwidth) plus the fixed
 * cost of a kernel; 0 for what does not run (parameters, constants, tuples, get-tuple-elements,
 * bitcasts). */
double cost_seconds(const Module *module, const CostTable *table, const DeviceProfile *profile,
                    InstId id);

/* How often the loop runs: known_trip_count of its backend_config, else what its condition and body
 * say when they count from a constant to a constant; -1 when neither does
 * (xla/hlo/analysis/while_loop_analysis.cc, ComputeWhileLoopTripCount). */
int64_t while_trip_count(const Module *module, InstId id);

#endif
