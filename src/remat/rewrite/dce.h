/* Dead code elimination (xla/hlo/transforms/simplifiers/hlo_dce.cc). */
#ifndef REMAT_HLO_REMAT_REWRITE_DCE_H
#define REMAT_HLO_REMAT_REWRITE_DCE_H

#include "analysis/flow/side_effect.h"
#include "remat/rewrite/rewrite.h"

/* Removes the following until nothing changes any more: instructions without users, side effects
 * and control dependencies; results of multi-output fusions that have no users, with the
 * instructions that compute them and the parameters that only these need, where what is left
 * rounds as before (analysis/flow/rounding.h); computations that have no
 * callers.
 *
 * updates: the module. breaks: schedules (dce_update_schedule) and every analysis. */
void dce_run(Rewrite *rewrite, Arena *scratch);

/* The same, for a caller that knows that the results of some fusions that keep their users round as
 * before without the others: `rounds_alike`, by InstId. */
void dce_run_proven(Rewrite *rewrite, const bool *rounds_alike, Arena *scratch);

/* Whether dce_run() removes results of a fusion once they have no users, if the others round as
 * before without them. */
bool dce_may_drop_results(const Rewrite *rewrite, const SideEffects *effects, InstId fusion);

/* Makes `root`, an instruction in a fusion's own computation, the fusion's only result, and removes
 * the instructions, the parameters and the operands that it does not need. The fusion must not have
 * users if the root changes. */
void dce_trim_fusion(Rewrite *rewrite, InstId fusion, InstId root, Arena *scratch);

/* Takes removed instructions out of the sequences. A computation that is new gets a sequence in the
 * order of its instructions. The new arrays of `schedule` are allocated in `out`. */
void dce_update_schedule(const Module *module, Schedule *schedule, Arena *out);

#endif
