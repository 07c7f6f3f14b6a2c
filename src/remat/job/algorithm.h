/* Rematerialization algorithms: the contract, and the table of all of them. */
#ifndef REMAT_HLO_REMAT_JOB_ALGORITHM_H
#define REMAT_HLO_REMAT_JOB_ALGORITHM_H

#include "analysis/cost/cost.h"
#include "analysis/memory/memory_model.h"
#include "remat/legality/collection.h"
#include "remat/legality/legality.h"
#include "remat/job/parameters.h"
#include "remat/rewrite/rewrite.h"
#include "remat_hlo.h"

/* What an algorithm gets: a budget, a module that it may edit, and what it may know of it. The
 * module and the schedule change together. */
typedef struct RematJob {
  Rewrite *rewrite;
  Schedule *schedule;
  const rh_remat_options *options;   /* as the caller of the library gave them */
  const RematParameters *parameters; /* those of them that steer algorithms */
  /* The budget: the peak that `memory_model` counts for the module is to be at most this many
   * bytes; 0 = as low as it gets. The engine derives it from options->limit_bytes, which bounds
   * what options->limit_counts says, under options->memory_model. */
  int64_t peak_limit_bytes;
  const MemoryModel *memory_model;
  unsigned modes;              /* RH_REMAT_…: the algorithm's own, or else those of the options */
  bool is_per_caller;          /* computations are reduced again with what their callers hold */
  const DeviceProfile *device; /* that time is modelled for; NULL = none */
  const Legality *legality;    /* what may be recomputed, and where */
  const CostTable *costs;      /* of the module before the first change */
  const Collection *collection; /* what checkpoint=collection keeps */
  const struct Plan *plan;      /* what remat_plan does (remat/plan/plan.h) */
  rh_diags *diags;              /* where remat_plan says what is wrong with it */
} RematJob;

/* What an algorithm says that it did. */
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
