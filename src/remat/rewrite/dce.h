/* Dead code elimination (xla/hlo/transforms/simplifiers/hlo_dce.cc). */
#ifndef REMAT_HLO_REMAT_REWRITE_DCE_H
#define REMAT_HLO_REMAT_REWRITE_DCE_H

#include "remat/rewrite/rewrite.h"

/* Removes the following until nothing changes any more: instructions without users, side effects
 * and control dependencies; results of multi-output fusions that have no users, with the
 * instructions that compute them and the parameters that only these need, where what is left
 * rounds as before (analysis/flow/rounding.h); computations that have no
 * callers.
 *
 * updates: the module. breaks: schedules (dce_update_schedule) and every analysis. */
void dce_run(Rewrite *rewrite, Arena *scratch);

/* Makes `root`, an instruction in a fusion's own computation, the fusion's only result, and removes
 * the instructions, the parameters and the operands that it does not need. The fusion must not have
 * users if the root changes. */
void dce_trim_fusion(Rewrite *rewrite, InstId fusion, InstId root, Arena *scratch);

/* Takes removed instructions out of the sequences. A computation that is new gets a sequence in the
 * order of its instructions. The new arrays of `schedule` are allocated in `out`. */
void dce_update_schedule(const Module *module, Schedule *schedule, Arena *out);

#endif
