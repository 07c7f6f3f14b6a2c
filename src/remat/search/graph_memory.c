#include "remat/search/graph_memory.h"

#include <stdlib.h>

#include "analysis/flow/copy_stage.h"
#include "ir/rows.h"

/* One access to a buffer that several values share. */
typedef struct Access {
  NodeId node;
  bool is_write;
  bool is_shared; /* by a computation that other nodes call, too */
} Access;

typedef struct Sharing {
  const SearchContext *context;
  const Module *module;
  SearchGraph *graph;
  uint32_t *num_readers; /* by NodeId: operands that it is */
  bool *is_detached;     /* by BufferId: loops do not share it; see detach_loops() */
  VEC(BufferId) detached;
  bool *is_awaited; /* by NodeId: others wait, and not because it reads what they overwrite */
  VEC(Access) accesses;
  Arena *out, *scratch;
} Sharing;

static bool is_loop(const Sharing *sharing, NodeId node) {
  return sharing->graph->nodes[node].flags & NODE_IS_LOOP;
}

/* ---- what loops begin with ---- */

/* A part of a node, and what it comes from by way of tuples. */
typedef struct PartOrigin {
  NodeId node;
  uint32_t part;
  VEC(NodeId) tuples; /* on the way */
} PartOrigin;

static PartOrigin find_origin(const SearchGraph *graph, NodeId reader, NodeReuse read,
                              Arena *scratch) {
  PartOrigin origin = {0};
  for (;;) {
    const NodeOperand *operand = node_operand(graph, reader, read.operand);
    origin.node = operand->node;
    origin.part = operand->first_part + read.part;
    const NodePart *part = node_part(graph, origin.node, origin.part);
    if (part->operand == NO_ID || !(graph->nodes[origin.node].flags & NODE_IS_TUPLE)) return origin;
    *vec_push(scratch, &origin.tuples) = reader = origin.node;
    read = (NodeReuse){part->operand, part->of_operand, false};
  }
}

/* Whether each run of what reads a node can have a run of its own to read. */
static bool is_read_once(const Sharing *sharing, NodeId node) {
  return sharing->num_readers[node] == 1 &&
         sharing->graph->nodes[node].flags & (NODE_CAN_CLONE | NODE_IS_TUPLE);
}

static BufferId buffer_of(const Sharing *sharing, NodeId node, uint32_t part) {
  const ValueAnalysis *values = &sharing->context->values;
  return values->buffers.of[dataflow_value(&values->flow, sharing->graph->nodes[node].inst, part)];
}

/* Detaches a loop from what it begins with that others read, too, and from constants. A part may
 * still take over the memory, once nobody else reads it; but a constant has none. */
static void detach_loop(Sharing *sharing, NodeId loop) {
  SearchGraph *graph = sharing->graph;
  const SearchNode *node = &graph->nodes[loop];
  for (uint32_t i = 0; i < node->num_parts; i++) {
    NodePart *part = &graph->parts.data[node->first_part + i];
    if (part->num_reuses == 0) continue;
    ArenaMark mark = arena_mark(sharing->scratch);
    NodeReuse reuse = graph->reuses.data[part->first_reuse];
    NodeId origin = find_origin(graph, loop, reuse, sharing->scratch).node;
    arena_reset(sharing->scratch, mark);
    if (!is_read_once(sharing, origin)) {
      BufferId buffer = buffer_of(sharing, loop, i);
      sharing->is_detached[buffer] = true;
      *vec_push(sharing->scratch, &sharing->detached) = buffer;
    }
    if (graph->nodes[origin].flags & NODE_IS_GIVEN) part->num_reuses = 0;
  }
}

/* Before copy-insertion, XLA has still to copy what a loop begins with if others read it, too, or
 * if it is a constant: the loop has memory of its own for this. Models that do not count these
 * copies count less than the graph does. */
static void detach_loops(Sharing *sharing) {
  if (copies_are_inserted(sharing->module)) return;
  for (NodeId number = 0; number < sharing->graph->num_nodes; number++) {
    if (is_loop(sharing, number)) detach_loop(sharing, number);
  }
}

/* ---- memory that several values share ---- */

/* The instruction of this computation that calls, perhaps through others, the one that `id` is in;
 * `id` itself if it is of this computation. If a computation on the way has no caller, or several
 * of them, an instruction of that. */
static InstId find_around(const Sharing *sharing, InstId id) {
  const Module *module = sharing->module;
  for (;;) {
    CompId parent = inst_get(module, id)->parent;
    if (parent == sharing->graph->comp) return id;
    InstId caller = only_caller_of(&sharing->context->values.graph, parent);
    if (caller == NO_ID) return id;
    id = caller;
  }
}

/* The node in which an instruction of this computation or of one that it calls runs; NO_ID if it
 * runs elsewhere, or in several nodes. */
static NodeId node_around(const Sharing *sharing, InstId id) {
  id = find_around(sharing, id);
  bool is_here = inst_get(sharing->module, id)->parent == sharing->graph->comp;
  return is_here ? node_inst(sharing->graph, id)->node : NO_ID;
}

static void note_read(void *context, InstId user, HloPosition position) {
  Sharing *sharing = context;
  (void)position;
  NodeId node = node_around(sharing, user);
  if (node == NO_ID) return;
  *vec_push(sharing->scratch, &sharing->accesses) = (Access){node, false, false};
}

/* The computations that run a called one, itself included, up to that of the graph. */
static IdVec find_runners(const Sharing *sharing, CompId called, Arena *arena) {
  const CallGraph *calls = &sharing->context->values.graph;
  bool *is_visited = sharing->context->space->is_visited;
  IdVec found = {0};
  *vec_push(arena, &found) = called;
  is_visited[called] = true;
  for (uint32_t next = 0; next < found.len; next++) {
    CompId comp = found.data[next];
    IdSpan callers = callers_of(calls, comp);
    for (uint32_t i = 0; comp != sharing->graph->comp && i < callers.len; i++) {
      CompId caller = inst_get(sharing->module, callers.ids[i])->parent;
      if (is_visited[caller]) continue;
      is_visited[caller] = true;
      *vec_push(arena, &found) = caller;
    }
  }
  for (uint32_t i = 0; i < found.len; i++)
    is_visited[found.data[i]] = false;
  return found;
}

/* Notes that the nodes which call a computation with several callers write to a buffer: each of
 * them a value of its own. */
static void note_callers(Sharing *sharing, CompId called) {
  CompId comp = sharing->graph->comp;
  Arena *inner = arena_new(arena_options(sharing->scratch));
  IdVec runners = find_runners(sharing, called, inner);
  for (uint32_t i = 0; i < runners.len; i++) {
    if (runners.data[i] == comp) continue;
    IdSpan callers = callers_of(&sharing->context->values.graph, runners.data[i]);
    for (uint32_t k = 0; k < callers.len; k++) {
      if (inst_get(sharing->module, callers.ids[k])->parent != comp) continue;
      NodeId node = node_inst(sharing->graph, callers.ids[k])->node;
      if (node != NO_ID)
        *vec_push(sharing->scratch, &sharing->accesses) = (Access){node, true, true};
    }
  }
  arena_free(inner);
}

/* Notes the writes of a value. Returns whether there are any in this computation. */
static bool note_writes(Sharing *sharing, InstId id) {
  uint32_t len = sharing->accesses.len;
  InstId around = find_around(sharing, id);
  CompId parent = inst_get(sharing->module, around)->parent;
  if (parent == sharing->graph->comp) {
    NodeId node = node_inst(sharing->graph, around)->node;
    if (node != NO_ID)
      *vec_push(sharing->scratch, &sharing->accesses) = (Access){node, true, false};
  } else if (callers_of(&sharing->context->values.graph, parent).len > 1) {
    note_callers(sharing, parent);
  }
  return sharing->accesses.len > len;
}

static int by_node(const void *pa, const void *pb) {
  const Access *a = pa, *b = pb;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  return (a->is_write > b->is_write) - (a->is_write < b->is_write);
}

typedef struct Wait {
  NodeId node, on;
  bool is_for_write; /* not because `on` reads what `node` overwrites */
} Wait;

typedef struct Waits {
  VEC(Wait) list;
} Waits;

/* What makes values share a buffer. */
static NodeTie tie_of_buffer(const Sharing *sharing, BufferId buffer) {
  const HloBuffers *buffers = &sharing->context->values.buffers;
  const Dataflow *flow = &sharing->context->values.flow;
  bool has_branch = false, has_parameter = false;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    InstId id = flow->values.data[buffers->values[i]].inst;
    const Instruction *inst = inst_get(sharing->module, id);
    bool is_inner = inst->parent != sharing->module->entry;
    if (inst->opcode == OPCODE_WHILE || (inst->opcode == OPCODE_PARAMETER && is_inner))
      return TIE_LOOP;
    has_branch |= inst->opcode == OPCODE_CONDITIONAL;
    has_parameter |= inst->opcode == OPCODE_PARAMETER;
  }
  return has_branch ? TIE_BRANCH : has_parameter ? TIE_DONATED : TIE_IN_PLACE;
}

static bool reads_node(const SearchGraph *graph, NodeId reader, NodeId read) {
  for (uint32_t i = 0; i < graph->nodes[reader].num_operands; i++) {
    if (node_operand(graph, reader, i)->node == read) return true;
  }
  return false;
}

static void tie(SearchGraph *graph, NodeId later, NodeId earlier, NodeTie why) {
  if (reads_node(graph, later, earlier)) return;
  if (!graph->tie_of[later]) graph->tie_of[later] = (uint8_t)why;
  if (!graph->tie_of[earlier]) graph->tie_of[earlier] = (uint8_t)why;
}

/* What a node writes to a buffer must not be read from where another node writes to it on. */
static void set_overwriter(Sharing *sharing, BufferId buffer, NodeId node, NodeId overwriter) {
  SearchGraph *graph = sharing->graph;
  const SearchNode *writer = &graph->nodes[node];
  if (node == overwriter) return;
  for (uint32_t part = 0; part < writer->num_parts; part++) {
    NodePart *written = &graph->parts.data[writer->first_part + part];
    if (written->operand != NO_ID || written->overwriter != NO_ID) continue;
    if (buffer_of(sharing, node, part) != buffer) continue;
    written->overwriter = overwriter;
    graph->has_overwriters = true;
  }
}

/* Loops that have memory of their own instead of that of a buffer do not use it. */
static void leave_out_detached(Sharing *sharing, BufferId buffer) {
  uint32_t num_kept = 0;
  if (!sharing->is_detached[buffer]) return;
  for (uint32_t i = 0; i < sharing->accesses.len; i++) {
    if (!is_loop(sharing, sharing->accesses.data[i].node))
      sharing->accesses.data[num_kept++] = sharing->accesses.data[i];
  }
  sharing->accesses.len = num_kept;
}

/* Values of one buffer are written one after the other. Each write waits for the one before, and
 * the part that was written before it must not be read from there on. What several callers of a
 * computation return is one value in the analysis, but has memory of its own for each of them: who
 * overwrites it is taken to overwrite all of it, to be on the safe side. */
static void order_writes(Sharing *sharing, BufferId buffer, Waits *waits) {
  const HloBuffers *buffers = &sharing->context->values.buffers;
  const Dataflow *flow = &sharing->context->values.flow;
  SearchGraph *graph = sharing->graph;
  sharing->accesses.len = 0;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    ValueId value = buffers->values[i];
    if (note_writes(sharing, flow->values.data[value].inst))
      dataflow_visit_uses(sharing->module, flow, value, note_read, sharing);
  }
  leave_out_detached(sharing, buffer);
  if (sharing->accesses.len < 2) return;
  qsort(sharing->accesses.data, sharing->accesses.len, sizeof *sharing->accesses.data, by_node);
  NodeTie why = tie_of_buffer(sharing, buffer);
  NodeId last_write = NO_ID;
  uint32_t first_reader = 0, first_write = NO_ID; /* the first one that is not overwritten yet */
  for (uint32_t i = 0; i < sharing->accesses.len; i++) {
    const Access *access = &sharing->accesses.data[i];
    if (last_write != NO_ID && access->node != last_write)
      *vec_push(sharing->scratch, &waits->list) = (Wait){access->node, last_write, true};
    if (!access->is_write) continue;
    if (last_write != NO_ID && access->node != last_write)
      tie(graph, access->node, last_write, why);
    for (uint32_t k = first_reader; k < i; k++) {
      NodeId before = sharing->accesses.data[k].node;
      if (before == access->node) continue;
      *vec_push(sharing->scratch, &waits->list) = (Wait){access->node, before, false};
      tie(graph, access->node, before, why);
    }
    bool is_first = first_write == NO_ID;
    for (uint32_t k = first_write; !is_first && k < i; k++) {
      const Access *before = &sharing->accesses.data[k];
      if (before->is_write && !(before->is_shared && access->is_shared))
        set_overwriter(sharing, buffer, before->node, access->node);
    }
    if (is_first || !(sharing->accesses.data[first_write].is_shared && access->is_shared))
      first_write = i;
    last_write = access->node;
    first_reader = i + 1;
  }
}

/* Adds the waits for memory that several values share to those that there are, each once. What a
 * node reads comes before it anyway, and so does what the tuple holds that a loop begins with. */
static void merge_waits(Sharing *sharing, const Waits *waits) {
  SearchGraph *graph = sharing->graph;
  if (waits->list.len == 0) return;
  Arena *scratch = sharing->scratch;
  uint32_t num_nodes = graph->num_nodes, num_added = waits->list.len, next = 0;
  RowItems items = {0};
  for (uint32_t i = 0; i < num_added; i++)
    *vec_push(scratch, &items) = (RowItem){waits->list.data[i].node, i};
  Rows added = rows_build(&items, num_nodes, scratch);
  /* By node: 1 + the last node so far that reads it, and that waits for it. */
  NodeId *reader = arena_zarray(scratch, NodeId, num_nodes);
  NodeId *waiter = arena_zarray(scratch, NodeId, num_nodes);
  uint32_t most = graph->waits.len + num_added;
  NodeId *merged = arena_array(sharing->out, NodeId, most);
  for (NodeId node = 0; node < num_nodes; node++) {
    SearchNode *to = &graph->nodes[node];
    uint32_t begin = next;
    for (uint32_t i = 0; i < to->num_waits; i++)
      merged[next++] = graph->waits.data[to->first_wait + i];
    for (uint32_t i = 0; i < to->num_operands; i++)
      reader[node_operand(graph, node, i)->node] = node + 1;
    NodeId begins_with = is_loop(sharing, node) ? node_operand(graph, node, 0)->node : node;
    bool is_tuple = graph->nodes[begins_with].flags & NODE_IS_TUPLE;
    for (uint32_t i = 0; is_tuple && i < graph->nodes[begins_with].num_operands; i++)
      reader[node_operand(graph, begins_with, i)->node] = node + 1;
    for (uint32_t i = added.first[node]; i < added.first[node + 1]; i++) {
      const Wait *wait = &waits->list.data[added.ids[i]];
      NodeId on = wait->on;
      if (reader[on] == node + 1) continue;
      sharing->is_awaited[on] |= wait->is_for_write;
      if (waiter[on] != node + 1) merged[next++] = on;
      waiter[on] = node + 1;
    }
    to->first_wait = begin;
    to->num_waits = next - begin;
  }
  graph->waits.data = merged;
  graph->waits.len = next;
  graph->waits.cap = most;
}

static void order_shared_memory(Sharing *sharing) {
  Waits waits = {0};
  const Rows *shared = &sharing->context->shared_buffers;
  CompId comp = sharing->graph->comp;
  for (uint32_t i = shared->first[comp]; i < shared->first[comp + 1]; i++)
    order_writes(sharing, shared->ids[i], &waits);
  merge_waits(sharing, &waits);
}

/* ---- what can be updated in place again ---- */

/* Copy-insertion adds such copies so that what they copy is not overwritten. */
static bool is_identity_copy(const Sharing *sharing, NodeId node) {
  InstId id = sharing->graph->nodes[node].inst;
  return id != NO_ID && recompute_verdict(sharing->context->job->legality, id) == KEEP_COPY;
}

/* Whether only one node reads this one, once, and it can be computed again for each run of that
 * node, apart from what it reads itself. */
static bool can_be_private(const Sharing *sharing, NodeId node) {
  const SearchGraph *graph = sharing->graph;
  unsigned flags = graph->nodes[node].flags;
  bool is_bound = sharing->is_awaited[node] || graph->nodes[node].num_waits;
  if (is_bound || sharing->num_readers[node] != 1) return false;
  if (flags & NODE_IS_TUPLE) return true;
  return graph->nodes[node].num_parts == 1 && node_part(graph, node, 0)->operand == NO_ID &&
         (flags & NODE_CAN_CLONE || is_identity_copy(sharing, node));
}

/* Whether all that a node writes into is for it alone. Adds the nodes of which each run of this one
 * then needs a run of its own. */
static bool owns_memory(const Sharing *sharing, NodeId update, IdVec *nodes) {
  const SearchGraph *graph = sharing->graph;
  const SearchNode *node = &graph->nodes[update];
  if (node->num_waits || sharing->is_awaited[update]) return false;
  bool owns_all = true;
  for (uint32_t i = 0; owns_all && i < node->num_parts; i++) {
    const NodePart *part = node_part(graph, update, i);
    if (part->num_reuses != 1) continue;
    PartOrigin origin =
        find_origin(graph, update, graph->reuses.data[part->first_reuse], sharing->scratch);
    NodeId overwriter = node_part(graph, origin.node, origin.part)->overwriter;
    if (overwriter == NO_ID) continue; /* it may, but need not, take over the memory */
    owns_all = overwriter == update && can_be_private(sharing, origin.node);
    *vec_push(sharing->scratch, nodes) = origin.node;
    for (uint32_t k = 0; owns_all && k < origin.tuples.len; k++) {
      owns_all = can_be_private(sharing, origin.tuples.data[k]);
      *vec_push(sharing->scratch, nodes) = origin.tuples.data[k];
    }
  }
  return owns_all;
}

/* An update in place can run again if what it writes into can, and is for the update alone: a
 * broadcast of zeros, say, that a scatter adds to, or all that a loop begins with. Nodes come after
 * what they read. */
static void mark_private(Sharing *sharing) {
  SearchGraph *graph = sharing->graph;
  for (NodeId number = 0; number < graph->num_nodes; number++) {
    SearchNode *node = &graph->nodes[number];
    if (!(node->flags & NODE_IN_PLACE && node->flags & NODE_CAN_CLONE)) continue;
    ArenaMark mark = arena_mark(sharing->scratch);
    IdVec nodes = {0};
    bool owns_all = owns_memory(sharing, number, &nodes);
    if (!owns_all) node->flags &= ~(unsigned)NODE_CAN_CLONE;
    for (uint32_t i = 0; owns_all && i < nodes.len; i++)
      graph->nodes[nodes.data[i]].flags |= NODE_IS_PRIVATE | NODE_CAN_CLONE;
    arena_reset(sharing->scratch, mark);
  }
}

void search_graph_share_memory(SearchGraph *graph, const SearchContext *context, Arena *out,
                               Arena *scratch) {
  Sharing sharing = {.context = context,
                     .module = context->job->rewrite->module,
                     .graph = graph,
                     .num_readers = arena_zarray(scratch, uint32_t, graph->num_nodes),
                     .is_detached = context->space->is_detached,
                     .is_awaited = arena_zarray(scratch, bool, graph->num_nodes),
                     .out = out,
                     .scratch = scratch};
  for (uint32_t i = 0; i < graph->operands.len; i++)
    sharing.num_readers[graph->operands.data[i].node]++;
  for (uint32_t i = 0; i < graph->waits.len; i++)
    sharing.is_awaited[graph->waits.data[i]] = true;
  detach_loops(&sharing);
  order_shared_memory(&sharing);
  mark_private(&sharing);
  for (uint32_t i = 0; i < sharing.detached.len; i++)
    sharing.is_detached[sharing.detached.data[i]] = false;
}
