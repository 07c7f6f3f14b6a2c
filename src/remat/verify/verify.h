/* The judge: whether one module computes what another one computes. It shares no code with what
 * rewrites modules, but what analysis/range/range_facts.h knows of numbers. */
#ifndef REMAT_HLO_REMAT_VERIFY_VERIFY_H
#define REMAT_HLO_REMAT_VERIFY_VERIFY_H

#include "ir/diag.h"
#include "ir/module.h"

/* RH_OK when `after` gives the same results as `before` for all inputs, bit for bit by HLO's rules:
 *   - its results are the same expressions of the parameters, where a value may be computed any
 *     number of times and in any order, and opt-barriers, copies, tuples, the borders of fusions
 *     and calls, conversions to integers of fewer bits and back that lose nothing, and conditionals
 *     on `(x | 1) != 0`, which holds for every x, do not matter;
 *   - what has side effects (random numbers, infeed, sends, custom calls that say so …) happens as
 *     often and, if both are scheduled and `keeps_order`, in the same order;
 *   - control dependencies of what is still computed are kept, and a schedule obeys them;
 *   - parameters, results and the aliasing between them are the same.
 * RH_NO, with notes in `diags` that name what differs, when it cannot be shown.
 *
 * Both modules passed module_check. O(size of both), calls written out where one module has fewer.
 */
rh_status verify_modules(const Module *before, const Module *after, bool keeps_order,
                         rh_diags *diags, Arena *scratch);

#endif
