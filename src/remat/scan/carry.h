/* Elements of a loop's state: adding them, and removing those that nothing needs. */
#ifndef REMAT_HLO_REMAT_SCAN_CARRY_H
#define REMAT_HLO_REMAT_SCAN_CARRY_H

#include "analysis/loop/loop.h"
#include "remat/rewrite/rewrite.h"

/* Adds an element that begins as `init`, an instruction beside the loop, and that the body hands on
 * unchanged. Returns a get-tuple-element in the body that takes it. The initial state must have no
 * other user than the loop.
 *
 * updates: the module. The caller puts the new instruction into the schedule. */
InstId carry_add(Rewrite *rewrite, const Loop *loop, InstId init);

/* Gives an element of a loop's state another shape, and another initial value. What the body hands
 * on is left to the caller. */
void carry_set_element(Rewrite *rewrite, const Loop *loop, uint32_t element, InstId init);

/* Removes the elements of all loops' states that nothing reads, but which may compute themselves:
 * such as a stack that is only written. Two loops that hand an unread element from one to the other
 * both lose it. Then removes dead code.
 *
 * updates: the module. breaks: schedules (dce_update_schedule) and every analysis. O(n). */
void carry_drop_unread(Rewrite *rewrite, const Loops *loops, Arena *scratch);

#endif
