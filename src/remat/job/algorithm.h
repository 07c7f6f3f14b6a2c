/* The contract of the rematerialization algorithms, and the table of all of them. An algorithm is
 * one function: it receives a RematJob and edits the job's module and schedule until the peak fits
 * the budget, or until it finds nothing more to do. The table has a row of algos.def for each. */
#ifndef REMAT_HLO_REMAT_JOB_ALGORITHM_H
#define REMAT_HLO_REMAT_JOB_ALGORITHM_H

#include "analysis/cost/cost.h"
#include "analysis/memory/memory_model.h"
#include "remat/legality/collection.h"
#include "remat/legality/legality.h"
#include "remat/job/limit.h"
#include "remat/job/parameters.h"
#include "remat/job/patience.h"
#include "remat/job/solver_end.h"
#include "remat/rewrite/rewrite.h"
#include "remat_hlo.h"

/* The input of an algorithm: the module that it may edit, the budget, and what is known about both.
 * The module and the schedule must be changed together. */
typedef struct RematJob {
  Rewrite *rewrite;
  Schedule *schedule;
  const rh_remat_options *options;   /* as the caller of the library gave them */
  const RematParameters *parameters; /* the part of the options that steers algorithms */
  PeakLimit peak_limit; /* the budget, for the module's peak memory as `memory_model` counts it */
  const MemoryModel *memory_model;
  /* A peak under `memory_model`, less this, is the figure that options->limit_bytes bounds, as far
   * as this model knows: for patience_report(). */
  int64_t uncounted_bytes;
  /* RH_REMAT_…: the modes of the algorithm, or of the options if it has none */
  unsigned modes;
  bool is_per_caller;           /* computations are reduced again, given what their callers hold */
  const DeviceProfile *device;  /* the device that time is modelled for; NULL = none */
  const Legality *legality;     /* which instructions may be recomputed, and where */
  const CostTable *costs;       /* of the module before the first change */
  const Collection *collection; /* the instructions that checkpoint=collection keeps */
  Patience *patience;           /* what may be spent; NULL = any amount, in tests only */
  struct SearchMemo *memo; /* of searches for lines (remat/search/memo.h); NULL = none is kept */
  /* The peak of the module as it is now, as the engine will judge it, which prints the module and
   * reads it again; NULL = take what `memory_model` counts for it. */
  int64_t (*judged_peak)(const struct RematJob *job);
  const void *judge;       /* what judged_peak() needs */
  const struct Plan *plan; /* the plan that remat_plan applies (remat/plan/plan.h) */
  rh_diags *diags;         /* receives why a plan cannot be applied, or an algorithm cannot run */
} RematJob;

/* What an algorithm reports about its run. */
typedef struct RematStats {
  /* the peak as XLA's pass counts it; -1 if the algorithm does not count it */
  int64_t xla_reported_after_bytes;
  uint64_t num_steps; /* decisions taken; 0 = nothing is recomputed and the order is the same */
  rh_status status;   /* RH_OK, unless a plan cannot be applied, or the algorithm cannot run */
  bool is_cut;        /* the algorithm stopped early because it would have taken too long */
  SolverEnd solver_end;
} RematStats;

/* requires: the schedule is valid for the module. updates: both. breaks: every analysis. The budget
 * may or may not be met. Dead instructions may be left. New instructions are in the schedule.
 * Deterministic, unless the job's patience is stopped: the algorithm then ends as soon as it can,
 * with a module and a schedule that are as valid. */
typedef void (*RematFn)(RematJob *job, RematStats *stats, Arena *out, Arena *scratch);

typedef struct RematAlgorithm {
  const char *name;
  const char *summary;
  RematFn run;
  /* RH_REMAT_…, used instead of the modes of the options; 0 = those of the options */
  unsigned modes;
  unsigned traits; /* RH_TRAIT_… */
} RematAlgorithm;

extern const RematAlgorithm remat_algorithms[];
extern const size_t num_remat_algorithms;

/* Returns NULL if no algorithm has this name. */
const RematAlgorithm *remat_algorithm_find(const char *name);

#define ALGORITHM(id, name, modes, traits, summary) \
  void remat_##id(RematJob *job, RematStats *stats, Arena *out, Arena *scratch);
#include "remat/job/algos.def"

#endif
