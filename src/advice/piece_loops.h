/* The two loops over pieces that a checkpoint around a piece leads to: one for the value of the
 * loss, and one for its gradients, which computes the piece again. */
#ifndef REMAT_HLO_ADVICE_PIECE_LOOPS_H
#define REMAT_HLO_ADVICE_PIECE_LOOPS_H

#include "advice/region_role.h"

/* Changes a copy of the module, in which the arrays of the region are as small as a piece, for what
 * differs in these loops. The first loop is over before the second one begins, so that nothing of a
 * piece waits for what is made of the loss alone. And the second one carries the gradients of
 * weights, to which each piece adds its own. `is_whole_user` is find_whole_users(). */
void piece_loops_separate(const Advisor *advisor, rh_module *made, CompId comp, RegionSize size,
                          const bool *is_whole_user);

#endif
