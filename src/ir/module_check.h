/* Whether a module is consistent enough to be analysed. XLA's parser, and ours, accept text whose
 * shapes contradict each other; everything behind the parser may rely on what is checked here. */
#ifndef REMAT_HLO_IR_MODULE_CHECK_H
#define REMAT_HLO_IR_MODULE_CHECK_H

#include "ir/diag.h"
#include "ir/module.h"

/* RH_ERR_INPUT with a diagnostic at the first instruction that
 *   - has a size that overflows, or is unbounded, so that memory cannot be counted;
 *   - forwards parts of operands (tuples, get-tuple-elements, copies, barriers, async operations)
 *     whose shapes do not fit;
 *   - calls computations whose parameters or results do not fit; only a fusion may have more
 *     operands than parameters, and nobody reads those (ShapeVerifier::HandleFusion).
 * O(instructions + operands). */
rh_status module_check(const Module *module, rh_diags *diags);

/* The same for all instructions: marks those that contradict themselves, by InstId, and returns how
 * many there are; `diags` gets the first `max_errors`, all if that is 0. From where the shapes have
 * more parts than can be looked at all are marked. */
uint32_t module_check_all(const Module *module, uint32_t max_errors, bool *is_broken,
                          rh_diags *diags);

/* Where an instruction stands in the text; NO_OFFSET for one that was not read. */
uint32_t inst_offset(const Module *module, InstId id);

#endif
