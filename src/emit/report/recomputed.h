/* What rematerialization recomputes, by source line and by scope. */
#ifndef REMAT_HLO_EMIT_REPORT_RECOMPUTED_H
#define REMAT_HLO_EMIT_REPORT_RECOMPUTED_H

#include "analysis/flow/call_graph.h"
#include "analysis/memory/liveness.h"
#include "ir/marks.h"
#include "remat_hlo.h"

/* `runs` says by CompId how often a computation runs. Computations that run as sequences count at
 * least once. */
void recomputed_fill(const Module *module, const ValueAnalysis *values, RematMarks marks,
                     const double *runs, rh_recomputed *recomputed, Arena *out, Arena *scratch);

#endif
