/* Removal of what nobody needs any more (xla/hlo/transforms/simplifiers/hlo_dce.cc). */
#ifndef REMAT_HLO_REMAT_REWRITE_DCE_H
#define REMAT_HLO_REMAT_REWRITE_DCE_H

#include "remat/rewrite/rewrite.h"

/* Removes, until nothing changes: instructions without users, side effects and control
 * dependencies; results of multi-output fusions that nobody takes, with what computes them and the
 * parameters that only this needed; computations that nobody calls.
 *
 * updates: the module. breaks: schedules (dce_update_schedule) and every analysis. */
void dce_run(Rewrite *rewrite, Arena *scratch);

/* Takes removed instructions out of the sequences and gives computations that are new one in the
 * order of their instructions. `schedule` grows in `out`. */
void dce_update_schedule(const Module *module, Schedule *schedule, Arena *out);

#endif
