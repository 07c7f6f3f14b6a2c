/* Proves that a rewritten module computes what the original one computes. The verifier shares no
 * code with the passes that rewrite modules, except for the value ranges of
 * analysis/range/range_facts.h.
 *
 * Example: `add(x, y)` may become `add(x, y.remat)` if `y.remat` is the same expression as `y`. */
#ifndef REMAT_HLO_REMAT_VERIFY_VERIFY_H
#define REMAT_HLO_REMAT_VERIFY_VERIFY_H

#include "ir/diag.h"
#include "ir/module.h"

/* RH_OK if `after` gives the same results as `before` for all inputs, bit for bit by HLO's rules:
 *   - The results are the same expressions of the parameters. A value may be computed any number of
 *     times and in any order. The following do not matter: opt-barriers, copies, tuples, the
 *     boundaries of fusions and calls, conversions to integers of fewer bits and back that lose
 *     nothing, and conditionals on `(x | 1) != 0`, which is true for every x.
 *   - Loops whose trip count is known, and in which nothing has a side effect, are compared as
 *     recurrences: the layout of their state does not matter, nor parts of it that nobody reads. A
 *     slice of what a loop has stacked is what the loop computed in that iteration, so that another
 *     loop may compute it again. A loop may be cut into segments, also by loops in a loop. If one
 * module has fewer loops than the other, loops of at most 64 iterations are executed one by one,
 * and arrays that are put together of others are compared piece by piece.
 *   - Side effects (random numbers, infeed, sends, custom calls with a side effect …) happen
 *     equally often and, if both modules are scheduled and `keeps_order` is set, in the same order.
 *   - The control dependencies of instructions that are still computed are kept, and a schedule
 *     obeys them.
 *   - Parameters, results and the aliasing between them are the same.
 *   - With `same_rounding`, what a code generator that contracts products and sums decides is the
 *     same, too (remat/verify/rounding_tags.h). Without it, boundaries of fusions and calls do not
 *     matter at all.
 * RH_NOT_EQUIVALENT, with notes in `diags` that name the difference, if this cannot be shown.
 *
 * requires: both modules pass module_check. O(size of both modules), with calls expanded if one
 * module has fewer calls than the other. If loops have to be compared as recurrences, O(size of a
 * loop's body) for each element of its state, up to a limit. */
rh_status verify_modules(const Module *before, const Module *after, bool keeps_order,
                         bool same_rounding, rh_diags *diags, Arena *scratch);

/* Marks the slices of which a compiler has noted what cannot be shown to be true any more, in the
 * loops where they are now (analysis/flow/slice_note.h), so that the module is written without
 * these notes; XLA then goes by the operands. Returns whether there are any. The module must have
 * been read from a text. O(size of the module) where it has notes, as for verify_modules(). */
bool verify_drop_stale_notes(Module *module, Arena *scratch);

#endif
