/* What an instruction costs: XLA's HloCostAnalysis (xla/service/hlo_cost_analysis.cc) in 64-bit
 * integers instead of its float32 sums, and a roofline that turns it into modelled seconds. */
#ifndef REMAT_HLO_ANALYSIS_COST_COST_H
#define REMAT_HLO_ANALYSIS_COST_COST_H

#include "analysis/cost/device_profile.h"
#include "ir/module.h"

/* Counts saturate at the ends of their range. XLA gives a custom call -1 flops and -1 bytes,
 * "unknown", and adds that up like any other number; so does this. */
typedef struct Cost {
  int64_t flops;
  int64_t transcendentals;
  int64_t bytes; /* accessed */
} Cost;

/* Arrays by InstId or CompId, with entries for what the module had when it was analysed. */
typedef struct CostTable {
  Cost *of; /* by InstId, as HloCostAnalysis gives it: a call, while, conditional or fusion includes
               its callees, a loop body once */
  int64_t *trip_counts;  /* by InstId: of a while, -1 when unknown; 1 for anything else */
  Cost *comps;           /* by CompId: sum over its instructions */
  int64_t *param_reads;  /* by InstId: bytes that a fused computation reads of this parameter */
  uint8_t *matrix_types; /* by InstId: ElementType of the matrix product that most flops belong to,
                            NUM_TYPES when there is none */
  const double *link_seconds; /* by InstId, where copies from and to the host overlap with what
                                 runs: analysis/cost/link.h; NULL = nothing overlaps */
  const KnownCost **known;    /* by InstId: what somebody said of it, NULL = nothing; or NULL */
  uint32_t num_insts;
  uint32_t num_comps;
} CostTable;

/* Costs of all instructions, also of removed ones, whose clones may be cloned again.
 * O(instructions + operands). */
CostTable cost_analyze(const Module *module, Arena *out, Arena *scratch);

/* The cost of one instruction whose callees' costs are in `table` already; for instructions that
 * were added after cost_analyze (a clone costs what its original does). */
Cost cost_of_inst(const Module *module, const CostTable *table, InstId id, Arena *scratch);

/* The same, but as somebody said it is (Backend.costs), or of a custom call that is known by its
 * target what it does, where HloCostAnalysis has -1: products and convolutions of cuBLAS and cuDNN,
 * attention, kernels with an estimate. */
Cost cost_of_inst_known(const Module *module, const CostTable *table, InstId id, Arena *scratch);

/* Sum over the entry computation when it was analysed: HloCostAnalysis's totals of the module. */
Cost cost_total(const Module *module, const CostTable *table);

typedef struct WeightedCost {
  double flops;
  double transcendentals;
  double bytes;
  double seconds; /* modelled, see cost_seconds */
} WeightedCost;

/* Sum over everything that runs, as the module is now, custom calls as far as they are known: each
 * loop body and condition times its trip count, fusions as one instruction, the dearest branch of a
 * conditional. `default_trip_count` stands in for unknown ones. `profile` may be NULL: seconds are
 * then 0 and the branch with the most flops is the dearest. */
WeightedCost cost_total_weighted(const Module *module, const CostTable *table,
                                 const DeviceProfile *profile, int64_t default_trip_count,
                                 Arena *scratch);

/* How often the instructions of each computation run, by CompId: once in the entry; 0 for what does
 * not run by itself, and for branches that are not the dearest. Weights of cost_total_weighted. */
double *cost_runs(const Module *module, const CostTable *table, const DeviceProfile *profile,
                  int64_t default_trip_count, Arena *out, Arena *scratch);

/* What an instruction's time is due to most. */
typedef enum CostBound {
  BOUND_NOTHING, /* it does not run */
  BOUND_COMPUTE,
  BOUND_TRANSCENDENTALS,
  BOUND_MEMORY,
  BOUND_LINK,   /* between devices, or to the host */
  BOUND_LAUNCH, /* of its kernel */
} CostBound;

typedef struct ModelledTime {
  double seconds;
  CostBound bound;
} ModelledTime;

/* Modelled time of one instruction on the device, callees of control flow not included: the
 * roofline max(flops / peak of its type, transcendentals / rate, bytes / bandwidth) plus the fixed
 * cost of a kernel. Dots, convolutions and fusions that mostly are one run at the matrix rate;
 * collectives and copies from or to the host's memory at the rate of their link, the latter only as
 * far as they hold up what runs, where the table knows that; a custom call of
 * which nothing is known takes the time that its operands and its result take. 0 for what does not
 * run: parameters, constants, tuples, get-tuple-elements, bitcasts, barriers, the second halves of
 * asynchronous pairs. */
ModelledTime cost_time(const Module *module, const CostTable *table, const DeviceProfile *profile,
                       InstId id);

/* The same, the seconds alone. */
double cost_seconds(const Module *module, const CostTable *table, const DeviceProfile *profile,
                    InstId id);

/* How often the loop runs: known_trip_count of its backend_config, else what its condition and body
 * say when they count from a constant to a constant; -1 when neither does
 * (xla/hlo/analysis/while_loop_analysis.cc, ComputeWhileLoopTripCount). */
int64_t while_trip_count(const Module *module, InstId id);

#endif
