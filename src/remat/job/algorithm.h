/* Rematerialization algorithms: the contract, and the table of all of them. */
#ifndef REMAT_HLO_REMAT_JOB_ALGORITHM_H
#define REMAT_HLO_REMAT_JOB_ALGORITHM_H

#include "analysis/cost/cost.h"
#include "analysis/memory/memory_model.h"
#include "remat/legality/legality.h"
#include "remat/rewrite/rewrite.h"

typedef struct RematOptions {
  /* Bytes that the memory model's peak may reach; 0 = as low as it gets. */
  int64_t limit_bytes;
  const MemoryModel *memory_model;
  int64_t small_node_bytes; /* smaller results are left alone */
  bool allow_collectives;
  /* XLA's algorithms */
  int64_t min_remat_bytes; /* min_remat_size: smaller ones are not looked at */
  uint32_t block_size_limit;
  double block_factor;          /* block_rematerialization_factor */
  unsigned modes;               /* RH_REMAT_… */
  const DeviceProfile *profile; /* that models time for RH_REMAT_OFFLOAD; NULL = none is done */
  bool is_per_caller;           /* computations are reduced again with what their callers hold */
  /* path */
  uint32_t path_depth; /* longest chain that is recomputed for one value */
  /* checkpoint=collection */
  const struct Collection *collection; /* NULL = nothing is asked to be kept */
  /* what a plan says (remat/plan/plan.h) */
  const struct Plan *plan;
  rh_diags *diags;
} RematOptions;

/* What an algorithm works on. The module and the schedule change together. */
typedef struct RematJob {
  Rewrite *rewrite;
  Schedule *schedule;
  const RematOptions *options;
  const Legality *legality;
  const CostTable *costs; /* of the module before the first change */
} RematJob;

typedef struct RematStats {
  int64_t xla_reported_after_bytes; /* the peak as XLA's pass has it; -1 where there is none */
  uint64_t num_steps; /* decisions taken; 0 = nothing is recomputed, in the same order */
  rh_status status;   /* RH_OK but for plans */
  bool is_cut;        /* it would have taken too long */
} RematStats;

/* requires: the schedule is valid for the module. updates: both. breaks: every analysis. The budget
 * is met or not; dead code may be left; new instructions stand in the schedule. Deterministic. */
typedef void (*RematFn)(RematJob *job, RematStats *stats, Arena *out, Arena *scratch);

typedef struct RematAlgorithm {
  const char *name;
  const char *summary;
  RematFn run;
  unsigned modes;  /* RH_REMAT_…, instead of those of the options; 0 = the options' */
  unsigned traits; /* RH_TRAIT_… */
} RematAlgorithm;

extern const RematAlgorithm remat_algorithms[];
extern const size_t num_remat_algorithms;

/* NULL when there is none of this name. */
const RematAlgorithm *remat_algorithm_find(const char *name);

#define ALGORITHM(id, name, modes, traits, summary) \
  void remat_##id(RematJob *job, RematStats *stats, Arena *out, Arena *scratch);
#include "remat/job/algos.def"

#endif
