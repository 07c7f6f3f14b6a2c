/* Puts off what only leads to results, such as the updates of an optimizer, or brings it forward.
 */
#ifndef REMAT_HLO_REMAT_SEARCH_UPDATES_H
#define REMAT_HLO_REMAT_SEARCH_UPDATES_H

#include "remat/search/line.h"

/* Moves groups of steps to the end where the results that they compute take more memory than what
 * they read: an optimizer makes three arrays of one gradient, and to put off one of them alone
 * saves nothing. The groups that need most go first, while the results of the others do not exist
 * yet. Sets `has_moved`. O(n log n). */
Line line_with_late_updates(const Line *line, bool *has_moved, Arena *out, Arena *scratch);

/* Moves groups of steps to where the last of what they read from elsewhere is computed: the product
 * that is a weight's gradient, and the updates that it leads to, then run as soon as the gradient
 * of the layer's output is there. It pays where results take over the memory of parameters. Sets
 * `has_moved`. O(n log n). */
Line line_with_early_updates(const Line *line, bool *has_moved, Arena *out, Arena *scratch);

/* Moves each of these steps, for itself, to where the last of what it reads is computed. Where a
 * weight is used many times, as in a recurrent network, its gradient is then added up as the parts
 * of it are known. Sets `has_moved`. O(n log n). */
Line line_with_eager_updates(const Line *line, bool *has_moved, Arena *out, Arena *scratch);

#endif
