/* Values that are the same an iteration apart: what an iteration hands on is what the next one
 * begins with. The forward loop of an LSTM stacks both, the state before a step and after it, since
 * its derivative needs both, and so stores each number twice. One of the two stacks does:
 *
 *   before(t) = after(t - 1), and the first value of the state for t = 0, or
 *   after(t) = before(t + 1), and the last value of the state for the last t.
 *
 * A value that may be read from such a stack is linked to the other one (ScanValue.neighbour). */
#ifndef REMAT_HLO_REMAT_SCAN_NEIGHBOURS_H
#define REMAT_HLO_REMAT_SCAN_NEIGHBOURS_H

#include "remat/scan/values.h"

/* Whether the next value of an element of a loop's state depends on the element, in however many
 * iterations. Of one that does not, such as the input of the step before, remat/verify would not
 * see that two stacks store the same. O(instructions of the body). */
bool neighbours_feed_back(const Loops *loops, const Loop *loop, uint32_t element, Arena *scratch);

/* Whether nothing reads a stack slice by slice, and nothing overwrites it after the loop, so that
 * other loops may begin to read it. */
bool neighbours_may_read(const Stacks *stacks, const Stack *stack, Arena *scratch);

/* Links the value that an iteration begins with to the one that it hands on, or the other way
 * round, unless neither has a stack that would do. */
void neighbours_link(ScanValues *values, uint32_t before, uint32_t after, Arena *scratch);

#endif
