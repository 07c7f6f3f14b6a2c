/* What a caller wants to be left alone, whatever algorithm runs: rh_remat_options.pin and .never.
 */
#ifndef REMAT_HLO_REMAT_LEGALITY_STEERING_H
#define REMAT_HLO_REMAT_LEGALITY_STEERING_H

#include "ir/diag.h"
#include "remat/legality/legality.h"

/* Sets `*steering`, by InstId: KEEP_PINNED for what `pin` matches, KEEP_NEVER for what `never` does
 * and `pin` does not, KEEP_NONE for the rest; NULL when neither is given. With a
 * bitcast or get-tuple-element that matches, the instruction whose value it hands on is meant, too.
 * `never` matches a fusion also by any instruction in it. A list that matches nothing is a warning,
 * an expression that is none RH_ERR_USAGE. O(instructions * expressions). */
rh_status steering_find(const Module *module, const char *pin, const char *never,
                        const uint8_t **steering, rh_diags *diags, Arena *out, Arena *scratch);

#endif
