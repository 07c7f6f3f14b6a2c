/* The cost of an instruction: XLA's HloCostAnalysis (xla/service/hlo_cost_analysis.cc) in 64-bit
 * integers instead of its float32 sums, and a roofline that turns a cost into modelled seconds.
 *
 * Example: f32[8,16] dot(f32[8,32], f32[32,16]) costs 2 * 8 * 16 * 32 = 8192 flops and 4 * (8*32 +
 * 32*16 + 8*16) = 3584 bytes. */
#ifndef REMAT_HLO_ANALYSIS_COST_COST_H
#define REMAT_HLO_ANALYSIS_COST_COST_H

#include "analysis/cost/device_profile.h"
#include "ir/module.h"

/* Counts saturate at the ends of their range. XLA gives a custom call -1 flops and -1 bytes for
 * "unknown", and adds them like any other number; so does this analysis. */
typedef struct Cost {
  int64_t flops;
  int64_t transcendentals;
  int64_t bytes; /* accessed */
} Cost;

/* Arrays by InstId or CompId, with entries for the instructions and computations that the module
 * had when it was analysed. */
typedef struct CostTable {
  Cost *of; /* by InstId, as in HloCostAnalysis: a call, while, conditional or fusion includes its
               callees, a loop body once */
  int64_t *trip_counts;    /* by InstId: iterations of a while, -1 when unknown; 1 for any other
                              instruction */
  Cost *comps;             /* by CompId: sum over its instructions */
  int64_t *param_reads;    /* by InstId: bytes that a fused computation reads of this parameter */
  float *needed_shares;    /* by InstId: the share of the elements that a fused computation needs of
                              its instructions, 0 elsewhere */
  int64_t *unneeded_bytes; /* by InstId: bytes of a fusion in `of` that its results do not need */
  float *kernel_blocks;    /* by InstId: blocks of threads on a GPU, 0 = enough */
  uint8_t *matrix_types; /* by InstId: ElementType of the matrix product that has most of its flops,
                            NUM_TYPES when there is none */
  const double *link_seconds;      /* by InstId: stalls if copies to and from the host overlap with
                                      computation (analysis/cost/link.h); NULL = nothing overlaps */
  const KnownCost **known;         /* by InstId: cost given by the user, NULL = none; or NULL */
  const int64_t *estimated_cycles; /* by InstId: XLA:TPU's own estimate, -1 = none; or NULL */
  const double *estimated_seconds; /* by InstId: XLA:GPU's own estimate of the time that the kernel
                                      runs, -1 = none; or NULL */
  const CostUnits *comp_units;     /* by CompId, see analysis/cost/units.h */
  const double *measured_seconds;  /* by InstId: of one run, negative = not measured; or NULL */
  uint32_t num_insts;
  uint32_t num_comps;
} CostTable;

/* Costs of all instructions, including removed ones, whose clones may be cloned again.
 * O(instructions + operands). */
CostTable cost_analyze(const Module *module, Arena *out, Arena *scratch);

/* The cost of one instruction whose callees' costs are in `table`. For instructions that were added
 * after cost_analyze(); a clone costs as much as its original. */
Cost cost_of_inst(const Module *module, const CostTable *table, InstId id, Arena *scratch);

/* Like cost_of_inst(), but the costs that the user gave (Backend.costs) and those of custom calls
 * with a known target replace the -1 of HloCostAnalysis. Known are products and convolutions of
 * cuBLAS and cuDNN, attention, and kernels with an estimate. */
Cost cost_of_inst_known(const Module *module, const CostTable *table, InstId id, Arena *scratch);

/* Sum over the entry computation as it was when analysed: HloCostAnalysis's totals of the
 * module. */
Cost cost_total(const Module *module, const CostTable *table);

typedef struct WeightedCost {
  double flops;
  double transcendentals;
  double bytes;
  double seconds;           /* modelled, see cost_seconds */
  double estimated_seconds; /* of these, what XLA estimates */
  double measured_seconds;  /* of these, what was measured */
} WeightedCost;

/* Sum over all instructions that run, in the module as it is now. The body and condition of a loop
 * count times its trip count, a fusion counts as one instruction, and of a conditional the most
 * expensive branch counts. `default_trip_count` is used where the trip count is unknown. Custom
 * calls count if their cost is known. `profile` may be NULL: seconds are then 0, and the branch
 * with the most flops is the most expensive. */
WeightedCost cost_total_weighted(const Module *module, const CostTable *table,
                                 const DeviceProfile *profile, int64_t default_trip_count,
                                 Arena *scratch);

/* By CompId, how often the instructions of each computation run: once in the entry; 0 in a
 * computation that does not run as a sequence, and in branches that are not the most expensive.
 * These are the weights of cost_total_weighted(). */
double *cost_runs(const Module *module, const CostTable *table, const DeviceProfile *profile,
                  int64_t default_trip_count, Arena *out, Arena *scratch);

/* Visits each instruction that cost_total_weighted() sums up, with the number of times it runs. */
typedef void (*VisitRun)(void *context, InstId id, double runs);
void cost_visit_runs(const Module *module, const CostTable *table, const DeviceProfile *profile,
                     int64_t default_trip_count, VisitRun visit, void *context, Arena *scratch);

/* The resource that determines an instruction's time. */
typedef enum CostBound {
  BOUND_NOTHING, /* the instruction takes no time */
  BOUND_COMPUTE,
  BOUND_TRANSCENDENTALS,
  BOUND_MEMORY,
  BOUND_LINK,   /* between devices, or to the host */
  BOUND_LAUNCH, /* the launch of its kernel */
} CostBound;

typedef enum TimeSource { TIME_MODELLED, TIME_ESTIMATED, TIME_MEASURED } TimeSource;

typedef struct ModelledTime {
  double seconds;
  CostBound bound;
  TimeSource source;
} ModelledTime;

/* What the bytes of an instruction pass. */
typedef enum WorkRoute {
  ROUTE_MEMORY,
  ROUTE_TO_HOST,
  ROUTE_FROM_HOST,
  ROUTE_DEVICES, /* the interconnect */
} WorkRoute;

typedef enum WorkKind {
  WORK_NONE,
  WORK_STALL,  /* a copy over the link, which takes `stall_seconds` whatever the rates are */
  WORK_KERNEL, /* the other figures, at the rates of a device */
} WorkKind;

/* What an instruction does, from which the rates of a device make its time. */
typedef struct InstWork {
  WorkKind kind;
  WorkRoute route;
  ElementType type; /* that it computes in */
  bool is_matrix;   /* its flops are those of a matrix product */
  double flops, transcendentals, bytes;
  double blocks; /* of threads on a GPU; 0 = enough */
  double stall_seconds;
  double cycles;            /* by XLA:TPU's own estimate; 0 = there is none */
  double estimated_seconds; /* by XLA:GPU's own estimate, without the launch; 0 = there is none */
  CostUnits units;          /* if its bytes pass the device's memory */
} InstWork;

/* The work of one instruction, and the modelled time of work on a device; cost_time() is both in
 * one. */
InstWork cost_work(const Module *module, const CostTable *table, InstId id);
ModelledTime work_time(const InstWork *work, const DeviceProfile *profile);

/* The units of work on a device, whose matrix units may multiply other types faster than bf16. */
CostUnits work_units(const InstWork *work, const DeviceProfile *profile);

/* What modelled times are to be multiplied by where some instructions were measured: the sum of
 * their measured times, divided by that of their modelled ones. 1 if nothing was measured. */
double cost_unmeasured_scale(const Module *module, const CostTable *table,
                             const DeviceProfile *profile, int64_t default_trip_count,
                             Arena *scratch);

/* Modelled time of one instruction on the device, without the callees of control flow. If it or
 * the instruction that it was cloned from was measured, that is its time. Otherwise, if the
 * profile knows the clock, and the text has an estimate of XLA:TPU for the instruction or for the
 * one that it was cloned from, it is the time; likewise that of XLA:GPU, plus the fixed cost of a
 * kernel, if the profile is that of a GPU. Otherwise, if the profile has prices of units, it is
 * that of its units; else it is the roofline max(flops / peak of its type, transcendentals / rate,
 * bytes / bandwidth) plus the fixed cost of a kernel, and that of a product if it is one. Dots,
 * convolutions, and fusions whose flops are mostly theirs, run at the matrix rate. Collectives, and
 * copies to or from the host's memory, run at the rate of their link; if the table has
 * link_seconds, such a copy takes only the time for which it stalls computation. A custom call of
 * unknown cost takes the time that its operands and its result take. The time is 0 for parameters,
 * constants, tuples, get-tuple-elements, bitcasts, barriers and the second halves of asynchronous
 * pairs. */
ModelledTime cost_time(const Module *module, const CostTable *table, const DeviceProfile *profile,
                       InstId id);

/* The seconds of cost_time(). */
double cost_seconds(const Module *module, const CostTable *table, const DeviceProfile *profile,
                    InstId id);

/* The number of iterations of a loop: known_trip_count of its backend_config; else computed from
 * its condition and body if the loop counts from a constant to a constant; else -1
 * (xla/hlo/analysis/while_loop_analysis.cc, ComputeWhileLoopTripCount). */
int64_t while_trip_count(const Module *module, InstId id);

#endif
