/* Memory that several values of a graph share: who waits for whom because of it, who overwrites
 * what, and which updates in place can run again. */
#ifndef REMAT_HLO_REMAT_SEARCH_GRAPH_MEMORY_H
#define REMAT_HLO_REMAT_SEARCH_GRAPH_MEMORY_H

#include "remat/search/graph.h"

/* Completes a graph whose nodes, parts and waits for other reasons are known: adds waits, sets
 * overwriters and ties, marks private nodes, and takes NODE_CAN_CLONE from updates in place of what
 * is not theirs alone. Waits are in `out`. O(parts and accesses of shared buffers · log). */
void search_graph_share_memory(SearchGraph *graph, const SearchContext *context, Arena *out,
                               Arena *scratch);

#endif
