/* What XLA's pipeline does to a module before it schedules it, as far as schedules depend on it. */
#ifndef REMAT_HLO_REMAT_REWRITE_PREPARE_H
#define REMAT_HLO_REMAT_REWRITE_PREPARE_H

#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* Inlines all plain calls, callees before callers (xla/service/call_inliner.cc). Calls with a
 * backend_config, those that XLA:CPU compiles as one function, and those inside asynchronous
 * computations, stay. In a scheduled module, which is told by `schedule` being there, the copies
 * take the call's place in the sequence.
 *
 * RH_ERR_INPUT when calls that call calls … would become more than a bounded number of
 * instructions. */
rh_status inline_calls(Rewrite *rewrite, Schedule *schedule, rh_diags *diags, Arena *out,
                       Arena *scratch);

/* Gives each call, loop, conditional and asynchronous operation its own copy of what it calls
 * (xla/service/flatten_call_graph.cc). The same error. With a schedule, in which nothing is dead,
 * the copies are in its order. */
rh_status flatten_call_graph(Rewrite *rewrite, const Schedule *schedule, rh_diags *diags,
                             Arena *scratch);

typedef enum UnfuseKind {
  UNFUSE_LOOP = 1 << 0,
  UNFUSE_INPUT = 1 << 1,
  UNFUSE_OUTPUT = 1 << 2,
  UNFUSE_ALL = UNFUSE_LOOP | UNFUSE_INPUT | UNFUSE_OUTPUT,
} UnfuseKind;

/* Writes fusions of these kinds out, so that their instructions can be rematerialized one by one.
 * Custom fusions stay: their backend_config is their meaning. The result computes the same as HLO;
 * what a compiler makes of it may round differently. Where a module has its copies, fusions with
 * something inside that works in place stay, too. Returns the number of fusions. */
uint32_t unfuse(Rewrite *rewrite, Schedule *schedule, unsigned kinds, Arena *out, Arena *scratch);

#endif
