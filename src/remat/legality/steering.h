/* The instructions that the user wants left alone, whichever algorithm runs: rh_remat_options.pin
 * and .never. A pinned value is kept for all its users; a value that `never` matches may be
 * compressed, but not recomputed. */
#ifndef REMAT_HLO_REMAT_LEGALITY_STEERING_H
#define REMAT_HLO_REMAT_LEGALITY_STEERING_H

#include "ir/diag.h"
#include "remat/legality/legality.h"

/* Sets `*steering`, by InstId: KEEP_PINNED for instructions that `pin` matches, KEEP_NEVER for
 * those that only `never` matches, KEEP_NONE for the rest; NULL if neither is given. If a bitcast
 * or a get-tuple-element matches, the instruction that computes its value is included. A fusion
 * also matches `never` if any instruction in it does. If a list matches nothing, a warning is
 * given. An invalid expression gives RH_ERR_USAGE. O(instructions * expressions). */
rh_status steering_find(const Module *module, const char *pin, const char *never,
                        const uint8_t **steering, rh_diags *diags, Arena *out, Arena *scratch);

#endif
