/* Parts of arrays that are put together of others by concatenations and updates, and taken apart
 * again by slices, all of them at known places. Example, of two iterations that were written out:
 *
 *   s1 = dynamic-update-slice(s0, concatenate(a, b), 0)
 *   s2 = dynamic-update-slice(s1, concatenate(c, d), 2)
 *   x = slice(concatenate(s2, e)), slice={[1:5]}
 *   y = fusion(x), which takes slice={[2:3]} of it
 *
 * Then the slice is d, and the fusion can read d instead of x. When nothing reads x any more, the
 * arrays go away, and each part lives only as long as it is needed. */
#ifndef REMAT_HLO_REMAT_SCAN_PARTS_H
#define REMAT_HLO_REMAT_SCAN_PARTS_H

#include "ir/schedule.h"
#include "remat/rewrite/rewrite.h"

/* In these computations, each of which runs as a sequence and is given once, lets instructions that
 * read nothing but such parts of an operand read the parts themselves. A part that only exists
 * within a fusion that puts it into an array gets a fusion of its own, right behind that one. Then
 * removes dead code.
 *
 * updates: module and schedule. breaks: every analysis. O(instructions + parts * updates that an
 * array is made of). */
void scan_forward_parts(Rewrite *rewrite, Schedule *schedule, const IdVec *comps, Arena *out,
                        Arena *scratch);

#endif
