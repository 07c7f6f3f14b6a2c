/* Checks that a module is consistent enough to be analysed. XLA's parser and ours accept text whose
 * shapes contradict each other. Everything that runs after the parser may rely on what is checked
 * here. */
#ifndef REMAT_HLO_IR_MODULE_CHECK_H
#define REMAT_HLO_IR_MODULE_CHECK_H

#include "ir/diag.h"
#include "ir/module.h"

/* Returns RH_ERR_INPUT, with a diagnostic at the first instruction that
 *   - has a size that overflows, or is unbounded, so that memory cannot be counted;
 *   - forwards parts of operands (tuples, get-tuple-elements, copies, barriers, async operations)
 *     whose shapes do not fit;
 *   - calls computations whose parameters or results do not fit. Only a fusion may have more
 *     operands than parameters; the extra ones are never read (ShapeVerifier::HandleFusion).
 *
 * The time is O(instructions + operands). */
rh_status module_check(const Module *module, rh_diags *diags);

/* Makes the checks of module_check() for all instructions. Marks the inconsistent ones in
 * `is_broken`, by InstId, and returns their number. `diags` gets the first `max_errors` of them, or
 * all if `max_errors` is 0. When the shapes have too many parts to be checked, all further
 * instructions are marked. */
uint32_t module_check_all(const Module *module, uint32_t max_errors, bool *is_broken,
                          rh_diags *diags);

/* Returns where an instruction is in the text, or NO_OFFSET if it was not read from the text. */
uint32_t inst_offset(const Module *module, InstId id);

#endif
