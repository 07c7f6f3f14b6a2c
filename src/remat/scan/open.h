/* Takes away what hides the stacks of loops. XLA:GPU starts the fusions that read and write slices
 * asynchronously, and some programs have loops within calls:
 *
 *   s = ((f32[8,4], …), f32[8,4], u32[]) fusion-start(stack, x, i), calls=write
 *   n = f32[8,4] fusion-done(s)               becomes   n = f32[8,4] fusion(stack, x, i),
 * calls=write
 *
 * Slices that XLA:TPU converts or lays out anew within fusions are in remat/scan/fused_slices.h,
 * stacks that are transposed between two loops in remat/scan/layouts.h.
 *
 * Barriers of checkpoints, which are there at XLA:GPU's hook and gone in its dumps, go, too: once
 * the order is fixed they say nothing more.
 *
 * Only rewritten loops pay for that: a module whose loops stay as they are stays closed. */
#ifndef REMAT_HLO_REMAT_SCAN_OPEN_H
#define REMAT_HLO_REMAT_SCAN_OPEN_H

#include "ir/diag.h"
#include "ir/schedule.h"
#include "remat/rewrite/rewrite.h"

/* Whether there is something to open. */
bool scan_is_closed(const Module *module, Arena *scratch);

/* Opens calls of computations with loops, asynchronous fusions in the bodies of loops that stack
 * something, conversions beside slices in fusions of bodies, barriers in them, and layouts of
 * stacks. updates: module and schedule, whose new arrays are in `out`. */
rh_status scan_open(Rewrite *rewrite, Schedule *schedule, rh_diags *diags, Arena *out,
                    Arena *scratch);

/* For analyses: the module, or a copy that is open, which lives as long as `out`. */
const Module *scan_opened(Module *module, Arena *out, Arena *scratch);

#endif
