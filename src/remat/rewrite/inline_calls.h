/* Inlining of plain calls, which XLA's pipeline does before it schedules a module. */
#ifndef REMAT_HLO_REMAT_REWRITE_INLINE_CALLS_H
#define REMAT_HLO_REMAT_REWRITE_INLINE_CALLS_H

#include "analysis/flow/call_graph.h"
#include "ir/diag.h"
#include "remat/rewrite/rewrite.h"

/* Inlines all plain calls, callees before callers (xla/service/call_inliner.cc). Some calls
 * are kept: those with a backend_config, those that XLA:CPU compiles as one function, those inside
 * asynchronous computations, those that give the entry's result its layout, and those whose callee
 * runs on another thread. The module is scheduled if `schedule` is not NULL; the
 * copies of the callee's instructions then replace the call in the sequence.
 *
 * Returns RH_ERR_INPUT when calls within called computations would grow to more than a bounded
 * number of instructions. */
rh_status inline_calls(Rewrite *rewrite, Schedule *schedule, rh_diags *diags, Arena *out,
                       Arena *scratch);

/* Whether a call is to be inlined. */
typedef bool (*CallTest)(const Module *module, const CallGraph *graph, InstId call);

/* The same for such calls only, outside of asynchronous computations. */
rh_status inline_wanted_calls(Rewrite *rewrite, Schedule *schedule, CallTest is_wanted,
                              rh_diags *diags, Arena *out, Arena *scratch);

#endif
