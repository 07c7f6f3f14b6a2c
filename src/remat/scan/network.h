/* Minimum cut of a flow network, by Dinic's algorithm (E. A. Dinic, 1970). */
#ifndef REMAT_HLO_REMAT_SCAN_NETWORK_H
#define REMAT_HLO_REMAT_SCAN_NETWORK_H

#include <stdbool.h>

#include "ir/vec.h"

/* A capacity that no cut can afford. */
#define NETWORK_INFINITY 1e300

typedef struct NetworkEdge {
  uint32_t to, next; /* next edge from the same node; NO_ID = none */
  double capacity;   /* what is left of it */
} NetworkEdge;

typedef struct Network {
  Arena *arena;
  VEC(uint32_t) first;    /* by node: an edge from it */
  VEC(NetworkEdge) edges; /* each is followed by its reverse */
} Network;

enum { NETWORK_SOURCE, NETWORK_SINK, NETWORK_FIRST_NODE };

/* A network with the source and the sink. */
Network network_new(Arena *arena);
uint32_t network_add_node(Network *network);
void network_add_edge(Network *network, uint32_t from, uint32_t to, double capacity);

/* Sets is_on_source_side, by node, for the minimum cut with the fewest nodes on that side. The
 * capacities are used up. O(nodes^2 * edges) in the worst case, near-linear on the shallow networks
 * here. */
void network_cut(Network *network, bool *is_on_source_side, Arena *scratch);

#endif
