/* A lower bound of the time that recomputation adds in one order. It tells how close a result is to
 * the best one. */
#ifndef REMAT_HLO_REMAT_BOUND_LINE_BOUND_H
#define REMAT_HLO_REMAT_BOUND_LINE_BOUND_H

#include "remat/job/patience.h"
#include "remat/search/line.h"

/* The seconds that recomputation adds at least, if every node runs where the line runs it first, as
 * often as is wanted later, and the peak is to be at most the limit. 0 = nothing is known; INFINITY
 * = no recomputation in this order can meet the limit. What a line is not allowed to recompute, but
 * another algorithm may (NODE_IS_LEGAL), counts as recomputable. Other orders may need less.
 *
 * The bound holds however early it is stopped. O(n log n + rounds * n). */
double line_time_bound(const Line *line, int64_t limit_bytes, Patience *patience, Arena *scratch);

/* The bytes that every line of the graph has live at some step, in any order and with any
 * recomputation: what the most demanding node reads, makes, and needs inside. */
int64_t graph_floor_bytes(const SearchGraph *graph, Arena *scratch);

#endif
