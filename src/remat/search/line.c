#include "remat/search/line.h"

#include "remat/search/line_link.h"

Line line_new(const SearchGraph *graph, NodeId *nodes, uint32_t len, Arena *out) {
  Line line = {.graph = graph,
               .nodes = nodes,
               .len = len,
               .first_source = arena_array(out, uint32_t, (size_t)len + 1),
               .first_part = arena_array(out, uint32_t, (size_t)len + 1)};
  uint32_t num_sources = 0, num_parts = 0;
  for (StepId step = 0; step < len; step++) {
    const SearchNode *node = &graph->nodes[nodes[step]];
    line.first_source[step] = num_sources;
    line.first_part[step] = num_parts;
    num_sources += node->num_operands;
    num_parts += node->num_parts;
  }
  line.first_source[len] = num_sources;
  line.first_part[len] = num_parts;
  line.sources = arena_array(out, StepId, num_sources);
  return line;
}

Line line_of_nodes(const SearchGraph *graph, NodeId *nodes, uint32_t len, Arena *out) {
  StepId *run_of = arena_array(out, StepId, graph->num_nodes);
  Line line = line_new(graph, nodes, len, out);
  for (StepId step = 0; step < len; step++) {
    for (uint32_t i = 0; i < graph->nodes[nodes[step]].num_operands; i++)
      line.sources[line.first_source[step] + i] = run_of[node_operand(graph, nodes[step], i)->node];
    run_of[nodes[step]] = step;
  }
  return line;
}

Line line_of_steps(const Line *line, const StepId *steps, uint32_t len, Arena *out,
                   Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  StepId *run_of = arena_array(scratch, StepId, line->len);
  NodeId *nodes = arena_array(out, NodeId, len);
  for (uint32_t i = 0; i < len; i++)
    nodes[i] = line->nodes[steps[i]];
  Line result = line_new(line->graph, nodes, len, out);
  for (StepId step = 0; step < len; step++) {
    uint32_t from = line->first_source[steps[step]], to = result.first_source[step];
    for (uint32_t i = 0; i < result.first_source[step + 1] - to; i++)
      result.sources[to + i] = run_of[line->sources[from + i]];
    run_of[steps[step]] = step;
  }
  if (scratch != out) arena_reset(scratch, mark);
  return result;
}

Line line_of_graph(const SearchGraph *graph, Arena *out) {
  NodeId *nodes = arena_array(out, NodeId, graph->num_nodes);
  uint32_t len = 0;
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    if (!(graph->nodes[node].flags & (NODE_IS_BYPASSED | NODE_IS_FORM))) nodes[len++] = node;
  }
  return line_of_nodes(graph, nodes, len, out);
}

Line line_copy(const Line *line, Arena *out) {
  NodeId *nodes = arena_array(out, NodeId, line->len);
  if (line->len) memcpy(nodes, line->nodes, line->len * sizeof *nodes);
  Line copy = line_new(line->graph, nodes, line->len, out);
  uint32_t num_sources = line->first_source[line->len];
  if (num_sources) memcpy(copy.sources, line->sources, num_sources * sizeof *copy.sources);
  return copy;
}

bool line_equals(const Line *a, const Line *b) {
  if (a->len != b->len) return false;
  if (a->len == 0) return true;
  return memcmp(a->nodes, b->nodes, a->len * sizeof *a->nodes) == 0 &&
         memcmp(a->sources, b->sources, a->first_source[a->len] * sizeof *a->sources) == 0;
}

/* The nodes that are read, or that must run even so: dead code may be removed. */
static bool *find_needed(const Line *line, Arena *out) {
  const SearchGraph *graph = line->graph;
  bool *is_needed = arena_zarray(out, bool, graph->num_nodes);
  for (StepId step = line->len; step-- > 0;) {
    NodeId id = line->nodes[step];
    const SearchNode *node = &graph->nodes[id];
    is_needed[id] |= !(node->flags & (NODE_IS_LEGAL | NODE_IS_TUPLE | NODE_IS_GIVEN));
    for (uint32_t i = 0; is_needed[id] && i < node->num_operands; i++)
      is_needed[graph->operands.data[node->first_operand + i].node] = true;
  }
  return is_needed;
}

/* The first runs of some nodes. */
static Line first_runs_of(const Line *line, bool *is_wanted, Arena *out) {
  NodeId *nodes = arena_array(out, NodeId, line->len);
  uint32_t len = 0;
  for (StepId step = 0; step < line->len; step++) {
    NodeId node = line->nodes[step];
    if (is_wanted[node]) nodes[len++] = node;
    is_wanted[node] = false;
  }
  return line_of_nodes(line->graph, nodes, len, out);
}

Line line_of_originals(const Line *line, Arena *out) {
  return first_runs_of(line, find_needed(line, out), out);
}

Line line_of_first_runs(const Line *line, Arena *out) {
  const SearchGraph *graph = line->graph;
  bool *is_wanted = arena_array(out, bool, graph->num_nodes);
  for (NodeId node = 0; node < graph->num_nodes; node++)
    is_wanted[node] = !(graph->nodes[node].flags & NODE_IS_FORM);
  return first_runs_of(line, is_wanted, out);
}

StepId *line_owners(const Line *line, Arena *out) {
  StepId *owners = arena_array(out, StepId, line_num_parts(line));
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      owners[part] = step;
  }
  return owners;
}

/* ---- memory ---- */

/* What is known of a part of the line while it is measured. What belongs together lies together:
 * the parts that a step reads are far from each other. */
typedef struct PartState {
  uint32_t root; /* as LineMemory.root_of */
  StepId last;   /* as LineMemory.last_of */
  int64_t held;  /* bytes while it lives */
} PartState;

static void find_roots(const Line *line, uint32_t *root_of) {
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    for (uint32_t i = 0; i < node->num_parts; i++) {
      const NodePart *part = &line->graph->parts.data[node->first_part + i];
      uint32_t number = line->first_part[step] + i;
      root_of[number] = part->operand == NO_ID
                            ? number
                            : root_of[line_read_part(line, step, part->operand, part->of_operand)];
    }
  }
}

/* A part is read where its step is read. What is forwarded is read where its holder is. */
static void find_last_reads(const Line *line, const uint32_t *root_of, PartState *states) {
  const SearchGraph *graph = line->graph;
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++)
      states[part] = (PartState){.root = root_of[part], .last = step};
  }
  for (StepId step = line->len; step-- > 0;) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    const StepId *sources = line->sources + line->first_source[step];
    for (uint32_t i = 0; i < node->num_operands; i++) {
      const NodeOperand *operand = &graph->operands.data[node->first_operand + i];
      uint32_t first = line->first_part[sources[i]] + operand->first_part;
      for (uint32_t part = first; part < first + operand->num_parts; part++) {
        if (states[part].last < step) states[part].last = step;
      }
    }
    for (uint32_t i = 0; i < node->num_parts; i++) {
      const NodePart *part = &graph->parts.data[node->first_part + i];
      if (part->operand == NO_ID) continue;
      StepId last = states[line->first_part[step] + i].last;
      StepId *of_source = &states[line_read_part(line, step, part->operand, part->of_operand)].last;
      if (last > *of_source) *of_source = last;
    }
  }
}

/* Bytes that a part, whose last reader has run, no longer takes. */
static int64_t release(PartState *state) {
  int64_t bytes = state->held;
  state->held = 0;
  return bytes;
}

/* The results of a step take memory, unless they take over that of an operand. Returns the bytes
 * by which what is live grows; those that count twice while the step runs are added to `twice`. */
static int64_t take_results(const Line *line, StepId step, PartState *states, int64_t *twice) {
  const SearchGraph *graph = line->graph;
  const SearchNode *node = &graph->nodes[line->nodes[step]];
  int64_t added = 0;
  if (node->flags & NODE_IS_GIVEN) return 0; /* see take_given() */
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *part = &graph->parts.data[node->first_part + i];
    if (part->bytes == 0) continue;
    int64_t bytes = part->bytes;
    for (uint32_t k = 0; k < part->num_reuses; k++) {
      NodeReuse reuse = graph->reuses.data[part->first_reuse + k];
      PartState *root = &states[states[line_read_part(line, step, reuse.operand, reuse.part)].root];
      if (root->last != step || root->held == 0) continue;
      int64_t taken = release(root);
      added -= taken;
      if (reuse.is_counted_twice) *twice += taken;
      if (taken > bytes) bytes = taken;
      break;
    }
    states[line->first_part[step] + i].held = bytes;
    added += bytes;
  }
  return added;
}

/* What is given takes memory before anything runs, wherever it stands. Returns its bytes. */
static int64_t take_given(const Line *line, PartState *states) {
  const SearchGraph *graph = line->graph;
  int64_t added = 0;
  for (StepId step = 0; graph->has_given_bytes && step < line->len; step++) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    if (!(node->flags & NODE_IS_GIVEN)) continue;
    for (uint32_t i = 0; i < node->num_parts; i++) {
      int64_t bytes = graph->parts.data[node->first_part + i].bytes;
      states[line->first_part[step] + i].held = bytes;
      added += bytes;
    }
  }
  return added;
}

/* Returns the bytes of what nobody reads after the step. */
static int64_t release_read(const Line *line, StepId step, PartState *states) {
  const SearchNode *node = &line->graph->nodes[line->nodes[step]];
  const StepId *sources = line->sources + line->first_source[step];
  int64_t released = 0;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    const NodeOperand *operand = &line->graph->operands.data[node->first_operand + i];
    uint32_t first = line->first_part[sources[i]] + operand->first_part;
    for (uint32_t part = first; part < first + operand->num_parts; part++) {
      PartState *root = &states[states[part].root];
      if (root->last == step) released += release(root);
    }
  }
  for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
    if (states[part].last == step && states[part].root == part) released += release(&states[part]);
  }
  return released;
}

LineMemory line_measure(const Line *line, Arena *out) {
  const SearchGraph *graph = line->graph;
  uint32_t num_parts = line_num_parts(line);
  LineMemory memory = {.bytes_at = arena_array(out, int64_t, line->len),
                       .bytes_before = arena_array(out, int64_t, line->len),
                       .last_of = arena_array(out, StepId, num_parts),
                       .root_of = arena_array(out, uint32_t, num_parts)};
  ArenaMark mark = arena_mark(out);
  PartState *states = arena_array(out, PartState, num_parts);
  find_roots(line, memory.root_of);
  find_last_reads(line, memory.root_of, states);
  int64_t live = graph->held_bytes + take_given(line, states);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    memory.bytes_before[step] = live;
    memory.seconds += node->seconds;
    int64_t twice = node->twice_bytes;
    live += take_results(line, step, states, &twice);
    memory.bytes_at[step] = live + (twice > node->inner_bytes ? twice : node->inner_bytes);
    if (memory.bytes_at[step] > memory.peak_bytes) memory.peak_bytes = memory.bytes_at[step];
    live -= release_read(line, step, states);
  }
  for (uint32_t part = 0; part < num_parts; part++)
    memory.last_of[part] = states[part].last;
  if (graph->has_host_form) memory.stall_seconds = line_stall_seconds(line, out);
  memory.seconds += memory.stall_seconds;
  arena_reset(out, mark);
  return memory;
}

double *line_begin_seconds(const Line *line, Arena *out) {
  double *begin = arena_array(out, double, (size_t)line->len + 1);
  begin[0] = 0;
  for (StepId step = 0; step < line->len; step++)
    begin[step + 1] = begin[step] + line->graph->nodes[line->nodes[step]].seconds;
  return begin;
}

double line_excess(const Line *line, const LineMemory *memory, int64_t limit_bytes) {
  double sum = 0;
  for (StepId step = 0; step < line->len; step++) {
    int64_t over = memory->bytes_at[step] - limit_bytes;
    if (over > 0) sum += (double)over;
  }
  return sum;
}

/* ---- edges ---- */

static StepId *find_first_runs(const Line *line, Arena *out) {
  StepId *first = arena_array(out, StepId, line->graph->num_nodes);
  memset(first, 0xff, line->graph->num_nodes * sizeof *first);
  for (StepId step = line->len; step-- > 0;)
    first[line->nodes[step]] = step;
  return first;
}

/* Notes which of the runs that a step reads it overwrites. */
static void note_overwritten(const Line *line, const uint32_t *root_of, const StepId *owner,
                             StepId step, LineOverwrites *overwrites) {
  const SearchGraph *graph = line->graph;
  const SearchNode *node = &graph->nodes[line->nodes[step]];
  for (uint32_t i = 0; i < node->num_operands; i++) {
    uint32_t count = graph->operands.data[node->first_operand + i].num_parts;
    for (uint32_t k = 0; k < count; k++) {
      uint32_t root = root_of[line_read_part(line, step, i, k)];
      StepId made_by = owner[root];
      uint32_t part =
          graph->nodes[line->nodes[made_by]].first_part + root - line->first_part[made_by];
      if (graph->parts.data[part].overwriter != line->nodes[step]) continue;
      overwrites->of_first[part] = false;
      if (overwrites->by[root] == NO_ID) overwrites->by[root] = step;
    }
  }
}

LineOverwrites line_overwrites(const Line *line, const uint32_t *root_of, Arena *out,
                               Arena *scratch) {
  const SearchGraph *graph = line->graph;
  uint32_t num_parts = line_num_parts(line);
  LineOverwrites overwrites = {.by = arena_array(out, StepId, num_parts),
                               .of_first = arena_zarray(out, bool, graph->parts.len)};
  if (num_parts) memset(overwrites.by, 0xff, num_parts * sizeof *overwrites.by);
  if (!graph->has_overwriters) return overwrites;
  Arena *inner = arena_new(arena_options(scratch));
  bool *overwrites_some = arena_zarray(inner, bool, graph->num_nodes);
  for (uint32_t part = 0; part < graph->parts.len; part++) {
    NodeId overwriter = graph->parts.data[part].overwriter;
    overwrites.of_first[part] = overwriter != NO_ID;
    if (overwriter != NO_ID) overwrites_some[overwriter] = true;
  }
  const StepId *owner = line_owners(line, inner), *first = find_first_runs(line, inner);
  for (StepId step = 0; step < line->len; step++) {
    if (overwrites_some[line->nodes[step]])
      note_overwritten(line, root_of, owner, step, &overwrites);
  }
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    for (uint32_t i = 0; first[node] != NO_ID && i < graph->nodes[node].num_parts; i++) {
      uint32_t part = graph->nodes[node].first_part + i;
      if (overwrites.of_first[part])
        overwrites.by[line->first_part[first[node]] + i] =
            first[graph->parts.data[part].overwriter];
    }
  }
  arena_free(inner);
  return overwrites;
}

/* What the edges of a line come from. */
typedef struct Roots {
  StepId *first;     /* by node: the first step that runs it; NO_ID for a node that does not run */
  uint32_t *root_of; /* by part of the line */
  LineOverwrites overwrites;
} Roots;

static Roots roots_build(const Line *line, Arena *out) {
  Roots roots = {.first = find_first_runs(line, out),
                 .root_of = arena_array(out, uint32_t, line_num_parts(line))};
  find_roots(line, roots.root_of);
  roots.overwrites = line_overwrites(line, roots.root_of, out, out);
  return roots;
}

/* The step that overwrites the memory of a part; NO_ID if there is none. */
static StepId overwriter_of_part(const Roots *roots, uint32_t part) {
  return roots->overwrites.by[roots->root_of[part]];
}

/* What waits, and what is waited for, is not cloned. What overwrites memory waits for all that
 * read it, clones included. */
Rows line_waits(const Line *line, Arena *out, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  Arena *inner = arena_new(arena_options(scratch));
  RowItems edges = {0};
  Roots roots = roots_build(line, inner);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    for (uint32_t i = 0; i < node->num_waits; i++) {
      StepId on = roots.first[graph->waits.data[node->first_wait + i]];
      if (on != NO_ID && on < step) *vec_push(inner, &edges) = (RowItem){step, on};
    }
    for (uint32_t i = 0; i < node->num_operands; i++) {
      uint32_t count = graph->operands.data[node->first_operand + i].num_parts;
      for (uint32_t k = 0; k < count; k++) {
        StepId writer = overwriter_of_part(&roots, line_read_part(line, step, i, k));
        if (writer != NO_ID && writer > step) *vec_push(inner, &edges) = (RowItem){writer, step};
      }
    }
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
      StepId writer = overwriter_of_part(&roots, part);
      if (writer != NO_ID && writer > step) *vec_push(inner, &edges) = (RowItem){writer, step};
    }
    /* Where the first run is the one whose memory is overwritten, it stays the first. */
    StepId first = roots.first[line->nodes[step]];
    bool is_overwritten = false;
    for (uint32_t i = 0; i < node->num_parts; i++)
      is_overwritten |= roots.overwrites.of_first[node->first_part + i];
    if (is_overwritten && first < step) *vec_push(inner, &edges) = (RowItem){step, first};
  }
  Rows waits = rows_build(&edges, line->len, out);
  arena_free(inner);
  return waits;
}

Rows line_readers(const Line *line, const LineMemory *memory, Arena *out, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  uint32_t num_parts = line_num_parts(line);
  Arena *inner = arena_new(arena_options(scratch));
  StepId *seen = arena_array(inner, StepId, num_parts); /* the last step noted for a part */
  RowItems reads = {0};
  if (num_parts) memset(seen, 0xff, num_parts * sizeof *seen);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    for (uint32_t i = 0; i < node->num_operands; i++) {
      uint32_t count = graph->operands.data[node->first_operand + i].num_parts;
      for (uint32_t k = 0; k < count; k++) {
        uint32_t root = memory->root_of[line_read_part(line, step, i, k)];
        if (seen[root] != step) *vec_push(inner, &reads) = (RowItem){root, step};
        seen[root] = step;
      }
    }
  }
  Rows readers = rows_build(&reads, num_parts, out);
  arena_free(inner);
  return readers;
}

/* ---- checks ---- */

/* Whether some of what an operand reads is overwritten before. */
static bool reads_overwritten(const Line *line, const Roots *roots, StepId step, uint32_t index) {
  uint32_t count = node_operand(line->graph, line->nodes[step], index)->num_parts;
  for (uint32_t k = 0; k < count; k++) {
    StepId writer = overwriter_of_part(roots, line_read_part(line, step, index, k));
    if (writer != NO_ID && writer < step) return true;
  }
  return false;
}

void line_find_copied_reads(SearchGraph *graph, Arena *scratch) {
  if (!graph->has_overwriters) return;
  Arena *inner = arena_new(arena_options(scratch));
  Line given = line_of_graph(graph, inner);
  Roots roots = roots_build(&given, inner);
  for (StepId step = 0; step < given.len; step++) {
    const SearchNode *node = &graph->nodes[given.nodes[step]];
    for (uint32_t i = 0; i < node->num_operands; i++)
      graph->operands.data[node->first_operand + i].is_copied =
          reads_overwritten(&given, &roots, step, i);
  }
  arena_free(inner);
}

bool line_is_valid(const Line *line, Arena *scratch) {
  const SearchGraph *graph = line->graph;
  Arena *inner = arena_new(arena_options(scratch));
  bool is_valid = true;
  for (StepId step = 0; is_valid && step < line->len; step++) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    for (uint32_t i = 0; i < node->num_operands; i++) {
      StepId source = line->sources[line->first_source[step] + i];
      is_valid &= source < step && node_value(graph, line->nodes[source]) ==
                                       graph->operands.data[node->first_operand + i].node;
    }
  }
  if (!is_valid) {
    arena_free(inner);
    return false;
  }
  Roots roots = roots_build(line, inner);
  for (NodeId node = 0; node < graph->num_nodes; node++)
    is_valid &= roots.first[node] != NO_ID ||
                graph->nodes[node].flags & (NODE_CAN_CLONE | NODE_IS_BYPASSED | NODE_IS_FORM);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    bool is_first = roots.first[line->nodes[step]] == step;
    is_valid &= is_first || node->flags & (NODE_CAN_CLONE | NODE_IS_FORM);
    for (uint32_t i = 0; i < node->num_operands; i++) {
      bool is_copied = graph->operands.data[node->first_operand + i].is_copied;
      is_valid &= is_copied || !reads_overwritten(line, &roots, step, i);
    }
    for (uint32_t i = 0; is_first && i < node->num_waits; i++) {
      NodeId on = graph->waits.data[node->first_wait + i];
      /* What can be cloned is waited for because it reads what is overwritten: see above. */
      if (graph->nodes[on].flags & NODE_CAN_CLONE) continue;
      is_valid &= roots.first[on] == NO_ID || roots.first[on] < step;
    }
  }
  arena_free(inner);
  return is_valid;
}
