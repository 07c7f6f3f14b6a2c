#include "remat/scan/network.h"

#include "support.h"

enum { MAX_NODES = 9, MAX_EDGES = 24 };

typedef struct Edge {
  uint32_t from, to;
  double capacity;
} Edge;

typedef struct Graph {
  uint32_t num_nodes, num_edges;
  Edge edges[MAX_EDGES];
} Graph;

static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

static Graph random_graph(uint64_t seed) {
  Graph graph = {.num_nodes = NETWORK_FIRST_NODE + 1 + next_random(&seed) % (MAX_NODES - 3),
                 .num_edges = 1 + next_random(&seed) % MAX_EDGES};
  for (uint32_t i = 0; i < graph.num_edges; i++) {
    Edge *edge = &graph.edges[i];
    edge->from = next_random(&seed) % graph.num_nodes;
    edge->to = next_random(&seed) % graph.num_nodes;
    edge->capacity = next_random(&seed) % 8 == 0 ? NETWORK_INFINITY : next_random(&seed) % 10;
  }
  return graph;
}

static double cut_capacity(const Graph *graph, uint32_t sources) {
  double sum = 0;
  for (uint32_t i = 0; i < graph->num_edges; i++) {
    const Edge *edge = &graph->edges[i];
    bool is_cut = (sources >> edge->from & 1) && !(sources >> edge->to & 1);
    if (is_cut) sum += edge->capacity;
  }
  return sum;
}

static uint32_t count_bits(uint32_t set) {
  uint32_t count = 0;
  for (; set; set &= set - 1)
    count++;
  return count;
}

/* Of all cuts with the least capacity, the one with the fewest nodes on the source's side, which is
 * the only one of that size. */
static uint32_t smallest_cut(const Graph *graph) {
  uint32_t best = 0;
  for (uint32_t set = 0; set < 1u << graph->num_nodes; set++) {
    if (!(set >> NETWORK_SOURCE & 1) || set >> NETWORK_SINK & 1) continue;
    double is = cut_capacity(graph, set), was = best ? cut_capacity(graph, best) : 0;
    bool is_better = !best || is < was || (is == was && count_bits(set) < count_bits(best));
    if (is_better) best = set;
  }
  return best;
}

START_TEST(cuts_are_minimal) {
  int num_cuts = 0;
  for (uint64_t seed = (uint64_t)_i * 100; seed < (uint64_t)_i * 100 + 100; seed++) {
    Graph graph = random_graph(seed);
    Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
    Network network = network_new(arena);
    for (uint32_t i = NETWORK_FIRST_NODE; i < graph.num_nodes; i++)
      ck_assert_uint_eq(network_add_node(&network), i);
    for (uint32_t i = 0; i < graph.num_edges; i++)
      network_add_edge(&network, graph.edges[i].from, graph.edges[i].to, graph.edges[i].capacity);
    bool *is_source = arena_zarray(arena, bool, graph.num_nodes);
    network_cut(&network, is_source, scratch);
    uint32_t found = 0, wanted = smallest_cut(&graph);
    for (uint32_t i = 0; i < graph.num_nodes; i++)
      found |= (uint32_t)is_source[i] << i;
    double is = cut_capacity(&graph, found), least = cut_capacity(&graph, wanted);
    arena_free(scratch);
    arena_free(arena);
    if (least >= NETWORK_INFINITY) continue; /* there is no cut to be found */
    num_cuts++;
    ck_assert_msg(is == least, "seed %llu: a cut of %g, not %g", (unsigned long long)seed, is,
                  least);
    ck_assert_msg(found == wanted, "seed %llu: nodes %x, not %x", (unsigned long long)seed, found,
                  wanted);
  }
  ck_assert_int_gt(num_cuts, 10);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("network");
  TCase *tc = tcase_create("network");
  tcase_add_loop_test(tc, cuts_are_minimal, 0, 20);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
