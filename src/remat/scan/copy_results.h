/* Fusions whose results are what they read. Where a loop's stack of one slice takes the place of a
 * larger one, a fusion that takes slices of it is left with nothing to do:
 *
 *   { p = f32[1,4] parameter(0)  ROOT t = (f32[1,4]) tuple(p) }   becomes
 *   { p = f32[1,4] parameter(0)  c = f32[1,4] copy(p)  ROOT t = (f32[1,4]) tuple(c) }
 *
 * XLA:TPU's emitter of fusions reads a null pointer where an element of the result is a parameter.
 */
#ifndef REMAT_HLO_REMAT_SCAN_COPY_RESULTS_H
#define REMAT_HLO_REMAT_SCAN_COPY_RESULTS_H

#include "ir/schedule.h"
#include "remat/rewrite/rewrite.h"

/* Gives each of several results of a loop fusion that is a parameter, or a bitcast of one, a copy,
 * on targets that compute fusions window by window. updates: the module and the schedule. */
void scan_copy_results(Rewrite *rewrite, Schedule *schedule, Arena *scratch);

#endif
