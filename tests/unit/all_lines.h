/* Small random graphs, and all of their lines: what bounds and exact searches are held against. */
#ifndef REMAT_HLO_TESTS_ALL_LINES_H
#define REMAT_HLO_TESTS_ALL_LINES_H

#include <math.h>

#include "remat/search/line.h"
#include "suite.h"

enum {
  MAX_NODES = 7,
  MAX_CLONES = 3,
  MAX_STEPS = MAX_NODES + MAX_CLONES,
  MAX_PEAK = 200,
};

/* ---- random graphs ---- */

typedef struct Random {
  uint64_t state;
} Random;

static inline uint32_t below(Random *random, uint32_t count) {
  random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(random->state >> 33) % count;
}

static inline void add_operand(SearchGraph *graph, SearchNode *node, NodeId from,
                               uint32_t first_part, uint32_t num_parts, Arena *arena) {
  *vec_push(arena, &graph->operands) =
      (NodeOperand){.node = from, .first_part = first_part, .num_parts = num_parts};
  node->num_operands++;
}

/* A part's memory may be taken over from the first operand. */
static inline void add_part(SearchGraph *graph, SearchNode *node, int64_t bytes, bool has_reuse,
                            bool is_twice, Arena *arena) {
  NodePart part = {.bytes = bytes,
                   .operand = NO_ID,
                   .overwriter = NO_ID,
                   .first_reuse = graph->reuses.len,
                   .num_reuses = has_reuse};
  if (has_reuse) *vec_push(arena, &graph->reuses) = (NodeReuse){0, 0, is_twice};
  *vec_push(arena, &graph->parts) = part;
  node->num_parts++;
}

/* A tuple has a table, which takes nothing here, and parts that are forwarded from its operands. */
static inline void add_forwarded(SearchGraph *graph, SearchNode *node, Arena *arena) {
  add_part(graph, node, 0, false, false, arena);
  for (uint32_t i = 0; i < node->num_operands; i++) {
    *vec_push(arena, &graph->parts) =
        (NodePart){.operand = i, .of_operand = 0, .overwriter = NO_ID};
    node->num_parts++;
  }
}

static inline bool is_forwarded(const SearchGraph *graph, NodeId node) {
  const SearchNode *of = &graph->nodes[node];
  return of->num_parts > 1 && graph->parts.data[of->first_part + 1].operand != NO_ID;
}

/* `shares_whole`: memory that is taken over has the size of what takes it, as in modules. Otherwise
 * a line may need less if something is read once more, as the memory is then not taken over. */
static inline SearchGraph random_graph(Random *random, bool shares_whole, Arena *arena) {
  uint32_t len = 4 + below(random, MAX_NODES - 3);
  RematParameters *parameters = arena_alloc(arena, sizeof *parameters);
  *parameters = parameters_default();
  SearchGraph graph = {
      .parameters = parameters, .nodes = arena_zarray(arena, SearchNode, len), .num_nodes = len};
  graph.held_bytes = below(random, 3);
  for (NodeId number = 0; number < len; number++) {
    SearchNode *node = &graph.nodes[number];
    *node = (SearchNode){.inst = number,
                         .first_operand = graph.operands.len,
                         .first_part = graph.parts.len,
                         .seconds = 1 + below(random, 5)};
    bool is_end = number + 1 == len;
    bool is_tuple = !is_end && number > 2 && below(random, 6) == 0;
    uint32_t num_operands = number == 0 ? 0 : is_tuple ? 2 : 1 + below(random, 2);
    for (uint32_t i = 0; i < num_operands; i++) {
      NodeId from = is_end && i == 0 ? number - 1 : below(random, number);
      uint32_t num_parts = graph.nodes[from].num_parts;
      uint32_t first = is_forwarded(&graph, from) ? 1 : 0; /* nobody reads a table alone */
      uint32_t part = first + (is_tuple ? 0 : below(random, num_parts - first));
      add_operand(&graph, node, from, part, is_tuple ? 1 : 1 + below(random, num_parts - part),
                  arena);
    }
    if (is_end) {
      node->seconds = 0;
      node->flags = NODE_IS_END;
      node->inst = NO_ID;
    } else if (is_tuple) {
      node->seconds = 0;
      node->flags = below(random, 2) ? NODE_CAN_CLONE : NODE_IS_TUPLE;
      add_forwarded(&graph, node, arena);
    } else {
      bool has_reuse = number > 0 && below(random, 2);
      int64_t bytes = 1 + below(random, 6);
      if (has_reuse && shares_whole) {
        NodeOperand first = graph.operands.data[node->first_operand];
        bytes = node_part(&graph, first.node, first.first_part)->bytes;
        has_reuse = bytes > 0;
        if (bytes == 0) bytes = 1;
      }
      add_part(&graph, node, bytes, has_reuse, below(random, 2), arena);
      if (below(random, 4) == 0) add_part(&graph, node, 1 + below(random, 6), false, false, arena);
      if (below(random, 5)) node->flags = NODE_CAN_CLONE;
      if (below(random, 4) == 0) node->inner_bytes = below(random, 5);
    }
  }
  return graph;
}

/* ---- all lines ---- */

/* Every line in which the nodes run in their order, and clones between them. */
typedef struct Trial {
  const SearchGraph *graph;
  NodeId nodes[MAX_STEPS];
  uint32_t len;
  double least[MAX_PEAK]; /* by peak: the least added time of a line that has it */
  bool reads_originals;   /* only lines in which somebody reads every original run */
  bool is_in_order;       /* only lines in which clones run in order between two original runs */
  Arena *arena;
} Trial;

/* Each step reads the last run of what it reads, or the first one. */
static inline Line make_line(const Trial *trial, bool reads_first) {
  const SearchGraph *graph = trial->graph;
  StepId run_of[MAX_NODES];
  NodeId *nodes = arena_array(trial->arena, NodeId, trial->len);
  memcpy(nodes, trial->nodes, trial->len * sizeof *nodes);
  Line line = line_new(graph, nodes, trial->len, trial->arena);
  memset(run_of, 0xff, sizeof run_of);
  for (StepId step = 0; step < line.len; step++) {
    const SearchNode *node = &graph->nodes[line.nodes[step]];
    for (uint32_t i = 0; i < node->num_operands; i++)
      line.sources[line.first_source[step] + i] =
          run_of[node_operand(graph, line.nodes[step], i)->node];
    if (!reads_first || run_of[line.nodes[step]] == NO_ID) run_of[line.nodes[step]] = step;
  }
  return line;
}

/* Whether every first run of a node that is read at all is read. */
static inline bool originals_are_read(const Trial *trial, const Line *line) {
  bool is_read[MAX_STEPS] = {0}, is_seen[MAX_NODES] = {0}, is_wanted[MAX_NODES] = {0};
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      is_read[line->sources[i]] = true;
      is_wanted[line->nodes[line->sources[i]]] = true;
    }
  }
  for (StepId step = 0; step < line->len; step++) {
    NodeId node = line->nodes[step];
    if (!is_seen[node] && is_wanted[node] && !is_read[step]) return false;
    is_seen[node] = true;
  }
  (void)trial;
  return true;
}

static inline void note_line(Trial *trial, double added) {
  ArenaMark mark = arena_mark(trial->arena);
  Line line = make_line(trial, false);
  if (trial->reads_originals && !originals_are_read(trial, &line)) return;
  int64_t peak = line_measure(&line, trial->arena).peak_bytes;
  ck_assert_int_lt(peak, MAX_PEAK);
  if (added < trial->least[peak]) trial->least[peak] = added;
  arena_reset(trial->arena, mark);
}

static inline void visit_lines(Trial *trial, NodeId next, uint32_t num_clones, double added) {
  const SearchGraph *graph = trial->graph;
  if (next == graph->num_nodes) {
    note_line(trial, added);
    return;
  }
  trial->nodes[trial->len++] = next;
  visit_lines(trial, next + 1, num_clones, added);
  trial->len--;
  NodeId first = 0;
  if (trial->is_in_order && num_clones && trial->len && trial->nodes[trial->len - 1] + 1 != next)
    first = trial->nodes[trial->len - 1] + 1;
  for (NodeId node = first; num_clones < MAX_CLONES && node < next; node++) {
    if (!(graph->nodes[node].flags & NODE_CAN_CLONE)) continue;
    trial->nodes[trial->len++] = node;
    visit_lines(trial, next, num_clones + 1, added + graph->nodes[node].seconds);
    trial->len--;
  }
}

/* Fills `least`. */
static inline void visit_all_lines(Trial *trial) {
  for (int i = 0; i < MAX_PEAK; i++)
    trial->least[i] = INFINITY;
  visit_lines(trial, 0, 0, 0);
}

#endif
