/* The order in which a depth-first visit from the end leaves the steps: each comes immediately
 * after what it reads, unless others have needed that before. It does not depend on the order
 * given, which is the best one to begin with only if whoever made it minded memory. */
#ifndef REMAT_HLO_REMAT_SEARCH_POST_ORDER_H
#define REMAT_HLO_REMAT_SEARCH_POST_ORDER_H

#include "remat/search/line.h"

/* Steps that do not lead to a result come after the others. Sets `has_moved`. O(operands). */
Line line_in_post_order(const Line *line, bool *has_moved, Arena *out, Arena *scratch);

#endif
