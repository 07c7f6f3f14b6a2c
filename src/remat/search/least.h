/* A bound of the peaks of all lines of a graph. */
#ifndef REMAT_HLO_REMAT_SEARCH_LEAST_H
#define REMAT_HLO_REMAT_SEARCH_LEAST_H

#include "remat/search/line.h"

/* Bytes that every line of the graph needs at some step: while a node runs that no line can do
 * without, all that it reads is live, and its results beside them, as far as they cannot take over
 * memory of that. `given` is the line of the graph's own order. The graph has no copies into other
 * forms, or the result is 0. O(parts of all operands). */
int64_t line_least_bytes(const Line *given, Arena *scratch);

#endif
