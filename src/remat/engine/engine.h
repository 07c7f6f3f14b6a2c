/* Rematerialization from a scheduled module to a proven result.
 *
 *     prepare   finds what is known of the input before any attempt   problem.c
 *     guide     chooses the model and limit that the algorithm gets   engine.c
 *     attempt   runs an algorithm, makes it safe, protects clones     attempt.c
 *     judge     prints the result, parses it again and measures it    judge.c
 *     finish    verifies the best attempt                             engine.c
 *
 * Each attempt is a value, so that attempts can be compared and the best one kept. A plan of what
 * each attempt did is kept as well (kept_plan.c). */
#ifndef REMAT_HLO_REMAT_ENGINE_ENGINE_H
#define REMAT_HLO_REMAT_ENGINE_ENGINE_H

#include "ir/handle.h"
#include "remat/job/algorithm.h"

typedef struct RematRequest {
  const rh_module *module;         /* scheduled and checked */
  const rh_remat_options *options; /* its `algorithm` and `memory_model` are ignored */
  const RematAlgorithm *algorithm; /* the algorithm to run; plan_algorithm to apply `plan` */
  const struct Plan *plan;         /* NULL = the algorithm decides */
  const MemoryModel *memory_model; /* judges whether the budget is met */
  const DeviceProfile *device;     /* the device that time is modelled for; NULL = none */
} RematRequest;

/* Recomputes values until the module fits the budget. Returns RH_OK and sets `*result`, a new
 * handle that the caller frees, even if the budget is not met: `info->is_met` says so. RH_ERR_USAGE
 * for an invalid expression in the options, RH_ERR_INPUT for a plan that cannot be applied, and
 * RH_ERR_INTERNAL if the result cannot be proven correct, which is a bug of ours; `*result` is then
 * NULL. */
rh_status remat_engine_run(const RematRequest *request, rh_module **result, rh_remat_result *info,
                           rh_diags *diags);

#endif
