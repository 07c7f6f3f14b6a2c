/* Rematerialization from a scheduled module to a proven result.
 *
 *     prepare   what is known of the input before anything is tried   problem.c
 *     guide     the model and limit that the algorithm works with     engine.c
 *     attempt   one run of the algorithm, made safe and protected     attempt.c
 *     judge     its text, read again and measured                     judge.c
 *     finish    the best attempt, verified                            engine.c
 *
 * Each attempt is a value, so that attempts can be compared and the best one kept. What was done is
 * kept as a plan beside that (kept_plan.c). */
#ifndef REMAT_HLO_REMAT_ENGINE_ENGINE_H
#define REMAT_HLO_REMAT_ENGINE_ENGINE_H

#include "ir/handle.h"
#include "remat/job/algorithm.h"

typedef struct RematRequest {
  const rh_module *module;         /* scheduled and checked */
  const rh_remat_options *options; /* `algorithm` and `memory_model` are not looked at */
  const RematAlgorithm *algorithm; /* that decides; plan_algorithm to apply `plan` */
  const struct Plan *plan;         /* NULL = the algorithm decides */
  const MemoryModel *memory_model; /* that judges whether the budget is met */
  const DeviceProfile *device;     /* that time is modelled for; NULL = none */
} RematRequest;

/* Recomputes values until the module fits the budget. RH_OK with `*result`, a new handle that its
 * caller frees, whether or not the budget is met: `info->is_met` says so. RH_ERR_USAGE for an
 * expression of the options that is none, RH_ERR_INPUT for a plan that cannot be done,
 * RH_ERR_SYSTEM when the result cannot be proven, a fault of ours; `*result` is then NULL. */
rh_status remat_engine_run(const RematRequest *request, rh_module **result, rh_remat_result *info,
                           rh_diags *diags);

#endif
