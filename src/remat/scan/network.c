#include "remat/scan/network.h"

#include <string.h>

#include "ir/ids.h"

/* Differences below this fraction of a capacity are rounding. */
#define LEAST 1e-18

Network network_new(Arena *arena) {
  Network network = {.arena = arena};
  (void)network_add_node(&network);
  (void)network_add_node(&network);
  return network;
}

uint32_t network_add_node(Network *network) {
  *vec_push(network->arena, &network->first) = NO_ID;
  return network->first.len - 1;
}

static void add_half(Network *network, uint32_t from, uint32_t to, double capacity) {
  uint32_t edge = network->edges.len;
  *vec_push(network->arena, &network->edges) =
      (NetworkEdge){to, network->first.data[from], capacity};
  network->first.data[from] = edge;
}

void network_add_edge(Network *network, uint32_t from, uint32_t to, double capacity) {
  add_half(network, from, to, capacity);
  add_half(network, to, from, 0);
}

typedef struct Flow {
  Network *network;
  uint32_t *level; /* by node: distance from the source; NO_ID = not reachable */
  uint32_t *next;  /* by node: the next edge to try */
  uint32_t *queue, *path;
} Flow;

static bool is_open(const NetworkEdge *edge) {
  return edge->capacity > LEAST;
}

/* Whether the sink can be reached. */
static bool find_levels(Flow *flow) {
  const Network *network = flow->network;
  uint32_t num_nodes = network->first.len, head = 0, tail = 0;
  memset(flow->level, 0xff, num_nodes * sizeof *flow->level);
  flow->level[NETWORK_SOURCE] = 0;
  flow->queue[tail++] = NETWORK_SOURCE;
  while (head < tail) {
    uint32_t node = flow->queue[head++];
    for (uint32_t e = network->first.data[node]; e != NO_ID; e = network->edges.data[e].next) {
      const NetworkEdge *edge = &network->edges.data[e];
      if (!is_open(edge) || flow->level[edge->to] != NO_ID) continue;
      flow->level[edge->to] = flow->level[node] + 1;
      flow->queue[tail++] = edge->to;
    }
  }
  return flow->level[NETWORK_SINK] != NO_ID;
}

/* Sends flow along one path of increasing levels; false if there is none any more. */
static bool send(Flow *flow) {
  Network *network = flow->network;
  NetworkEdge *edges = network->edges.data;
  uint32_t node = NETWORK_SOURCE, length = 0;
  while (node != NETWORK_SINK) {
    uint32_t e = flow->next[node];
    while (e != NO_ID && !(is_open(&edges[e]) && flow->level[edges[e].to] == flow->level[node] + 1))
      e = edges[e].next;
    flow->next[node] = e;
    if (e != NO_ID) {
      flow->path[length++] = e;
      node = edges[e].to;
      continue;
    }
    if (length == 0) return false;
    uint32_t back = flow->path[--length]; /* a dead end: do not go there again */
    node = edges[back ^ 1].to;
    flow->next[node] = edges[back].next;
  }
  double least = NETWORK_INFINITY;
  for (uint32_t i = 0; i < length; i++) {
    if (edges[flow->path[i]].capacity < least) least = edges[flow->path[i]].capacity;
  }
  for (uint32_t i = 0; i < length; i++) {
    uint32_t e = flow->path[i];
    edges[e].capacity =
        edges[e].capacity >= NETWORK_INFINITY ? NETWORK_INFINITY : edges[e].capacity - least;
    if (edges[e ^ 1].capacity < NETWORK_INFINITY) edges[e ^ 1].capacity += least;
  }
  return least < NETWORK_INFINITY; /* else no cut can separate them */
}

void network_cut(Network *network, bool *is_on_source_side, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint32_t num_nodes = network->first.len;
  Flow flow = {.network = network,
               .level = arena_array(scratch, uint32_t, num_nodes),
               .next = arena_array(scratch, uint32_t, num_nodes),
               .queue = arena_array(scratch, uint32_t, num_nodes),
               .path = arena_array(scratch, uint32_t, num_nodes)};
  while (find_levels(&flow)) {
    memcpy(flow.next, network->first.data, num_nodes * sizeof *flow.next);
    uint32_t num_paths = 0;
    while (send(&flow))
      num_paths++;
    if (num_paths == 0) break;
  }
  for (uint32_t i = 0; i < num_nodes; i++)
    is_on_source_side[i] = flow.level[i] != NO_ID;
  arena_reset(scratch, mark);
}
