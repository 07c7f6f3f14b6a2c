#include "remat/search/graph.h"

#include <stdlib.h>

#include "remat/search/graph_memory.h"

typedef struct Builder {
  const SearchContext *context;
  const Module *module;
  SearchGraph *graph;
  bool *is_held;        /* by BufferId: see mark_held() */
  bool *is_lent;        /* by BufferId: of a parameter, free for a while */
  VEC(BufferId) marked; /* of which these say something */
  uint32_t *part_of;    /* by place of a view: the first part of its node that it stands for */
  NodeId *barrier_of; /* by place of a view: the last barrier that it goes through; NO_ID = none */
  uint32_t *seen_at;  /* by ValueId: 1 + the operand part in `found` of the node being built */
  VEC(ValueId) seen;  /* to be cleared */
  VEC(NodeReuse) found; /* operand parts of the node being built */
  VEC(bool) is_again;   /* by such a part: another operand part has the same value */
  /* The last node with a side effect, and the last one that cannot be cloned; NO_ID = none. */
  NodeId last_placed; /* the last node that XLA:TPU has placed */
  NodeId last_effect, last_lasting_effect;
  Arena *out, *scratch;
} Builder;

static uint32_t *part_of(const Builder *builder, InstId id) {
  return &builder->part_of[builder->context->place_of[id]];
}

static NodeId *barrier_of(const Builder *builder, InstId id) {
  return &builder->barrier_of[builder->context->place_of[id]];
}

static int64_t bytes_of(const Builder *builder, ValueId id) {
  const HloValue *value = &builder->context->values.flow.values.data[id];
  if (inst_get(builder->module, value->inst)->opcode == OPCODE_CONSTANT) return 0;
  return builder->context->sizes->of_part(builder->module, value->shape);
}

/* Marks the buffers into which an instruction of the entry writes without reading what is there.
 * Where such a buffer is a parameter's, its memory is free between the last reader of the parameter
 * and that instruction: a donated parameter is copied before it is updated. O(operands' parts). */
static void mark_overwritten(Builder *builder, bool *is_overwritten) {
  const Module *module = builder->module;
  const Dataflow *flow = &builder->context->values.flow;
  const HloBuffers *buffers = &builder->context->values.buffers;
  InstId *read_by = arena_array(builder->scratch, InstId, buffers->num_buffers);
  if (buffers->num_buffers) memset(read_by, 0xff, buffers->num_buffers * sizeof *read_by);
  for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
    InstId id = comp_inst(module, module->entry, i);
    if (inst_get(module, id)->opcode == OPCODE_PARAMETER) continue;
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++)
        read_by[buffers->of[dataflow_value(flow, operand, part)]] = id;
    }
    for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
      ValueId value = dataflow_value(flow, id, part);
      BufferId buffer = buffers->of[value];
      if (flow->values.data[value].inst == id && read_by[buffer] != id)
        is_overwritten[buffer] = true;
    }
  }
}

/* Marks the buffers that live all the time: in the entry, those of parameters, unless they are free
 * for a while (`is_lent`) and the context does not hold that; in any other computation, those that
 * it shares with its caller, parameters and results. Where memory is packed, a parameter's is apart
 * from the rest, and one value at a time can use it while it is free, so that neither is exact. */
static void mark_held(Builder *builder, CompId comp) {
  const Module *module = builder->module;
  const Dataflow *flow = &builder->context->values.flow;
  bool *is_overwritten = NULL; /* nothing is, but in the entry */
  if (comp == module->entry) {
    is_overwritten =
        arena_zarray(builder->scratch, bool, builder->context->values.buffers.num_buffers);
    mark_overwritten(builder, is_overwritten);
  }
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    bool is_parameter = inst_get(module, id)->opcode == OPCODE_PARAMETER;
    bool is_result = comp != module->entry && inst_is_root(module, id);
    if (!is_parameter && !is_result) continue;
    for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
      BufferId buffer = builder->context->values.buffers.of[dataflow_value(flow, id, part)];
      builder->is_lent[buffer] = is_overwritten && is_overwritten[buffer];
      builder->is_held[buffer] = !builder->is_lent[buffer] || builder->context->holds_lent;
      *vec_push(builder->scratch, &builder->marked) = buffer;
    }
  }
}

static void forget_held(Builder *builder) {
  for (uint32_t i = 0; i < builder->marked.len; i++)
    builder->is_held[builder->marked.data[i]] = builder->is_lent[builder->marked.data[i]] = false;
}

/* The bytes of the buffers that live all the time. */
static int64_t held_bytes(const Builder *builder) {
  const HloBuffers *buffers = &builder->context->values.buffers;
  int64_t sum = 0;
  for (BufferId buffer = 0; buffer < buffers->num_buffers; buffer++) {
    if (!builder->is_held[buffer]) continue;
    int64_t most = 0;
    for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
      int64_t bytes = bytes_of(builder, buffers->values[i]);
      if (bytes > most) most = bytes;
    }
    sum += most;
  }
  return sum;
}

static void note_operands(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const Dataflow *flow = &builder->context->values.flow;
  builder->found.len = builder->seen.len = builder->is_again.len = 0;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      ValueId value = dataflow_value(flow, operand, part);
      if (builder->seen_at[value]) {
        builder->is_again.data[builder->seen_at[value] - 1] = true;
        continue;
      }
      *vec_push(builder->scratch, &builder->found) = (NodeReuse){i, part, false};
      *vec_push(builder->scratch, &builder->is_again) = false;
      *vec_push(builder->scratch, &builder->seen) = value;
      builder->seen_at[value] = builder->found.len;
    }
  }
}

static void forget_operands(Builder *builder) {
  for (uint32_t i = 0; i < builder->seen.len; i++)
    builder->seen_at[builder->seen.data[i]] = 0;
}

/* Finds the operand parts whose memory an own part takes over: those that must share it, and, as
 * the heap simulator does it, those that may. */
static void add_reuses(Builder *builder, InstId id, uint32_t index, ValueId value, NodePart *part,
                       unsigned *flags) {
  const Module *module = builder->module;
  const Dataflow *flow = &builder->context->values.flow;
  const HloBuffers *buffers = &builder->context->values.buffers;
  part->first_reuse = builder->graph->reuses.len;
  BufferId buffer = buffers->of[value];
  if (!hlo_buffer_is_alone(buffers, buffer)) {
    for (uint32_t i = 0; i < builder->seen.len; i++) {
      if (buffers->of[builder->seen.data[i]] != buffer) continue;
      NodeReuse *reuse = vec_push(builder->out, &builder->graph->reuses);
      *reuse = builder->found.data[i];
      reuse->is_counted_twice = builder->context->counts_twice;
      *flags |= NODE_IN_PLACE;
      break;
    }
  } else if (inst_get(module, id)->opcode != OPCODE_COPY) {
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      ValueId held = dataflow_value(flow, operand, 0);
      const HloValue *of_operand = &flow->values.data[held];
      if (!hlo_buffer_is_alone(buffers, buffers->of[held]) || bytes_of(builder, held) == 0)
        continue;
      if (!can_share_operand_buffer(module, flow, of_operand->inst, of_operand->part, id, index,
                                    builder->scratch))
        continue;
      *vec_push(builder->out, &builder->graph->reuses) = (NodeReuse){i, 0, false};
    }
  }
  part->num_reuses = builder->graph->reuses.len - part->first_reuse;
}

/* Part {0,i,…} of what begins an asynchronous operation is operand i. */
static bool is_started_operand(const Builder *builder, InstId id, uint32_t index, ValueId value,
                               NodeReuse *from) {
  const Module *module = builder->module;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_ASYNC_START:
    case OPCODE_ALL_GATHER_START:
    case OPCODE_COLLECTIVE_PERMUTE_START: break;
    default: return false;
  }
  const Shape *state = inst_shape(module, id);
  if (state->rank == 0) return false;
  const Shape *operands = shape_get(&module->shapes, state->elements[0]);
  uint32_t num_operands = inst_get(module, id)->num_operands;
  for (uint32_t i = 0; shape_is_tuple(operands) && i < operands->rank && i < num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    uint32_t first = state->element_offsets[0] + operands->element_offsets[i];
    if (index < first || index - first >= inst_shape(module, operand)->num_parts) continue;
    *from = (NodeReuse){i, index - first, false};
    return dataflow_value(&builder->context->values.flow, operand, index - first) == value;
  }
  return false;
}

/* The operand part that part `index` of a result is, if its value is that of an operand. The same
 * value can come by several operands, of which only some are computed again: tuples and what begins
 * an asynchronous operation take each part from the operand that it comes by, and loops and
 * barriers from where it is in the operand. Of others it is not certain, if there are several. */
static NodeReuse forwarded_from(const Builder *builder, InstId id, uint32_t index, ValueId value,
                                bool *is_certain) {
  const Module *module = builder->module;
  const Dataflow *flow = &builder->context->values.flow;
  const Instruction *inst = inst_get(module, id);
  uint32_t known = builder->seen_at[value] - 1;
  *is_certain = true;
  if (inst->opcode == OPCODE_TUPLE) {
    const Shape *shape = inst_shape(module, id);
    uint32_t low = 0, high = inst->num_operands; /* the last element that does not begin later */
    while (high - low > 1) {
      uint32_t middle = low + (high - low) / 2;
      if (shape->element_offsets[middle] <= index) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return (NodeReuse){low, index - shape->element_offsets[low], false};
  }
  NodeReuse started;
  if (is_started_operand(builder, id, index, value, &started)) return started;
  if (inst->num_operands && index < inst_shape(module, inst_operand(module, id, 0))->num_parts &&
      dataflow_value(flow, inst_operand(module, id, 0), index) == value)
    return (NodeReuse){0, index, false};
  *is_certain = !builder->is_again.data[known];
  return builder->found.data[known];
}

/* Whether an instruction calls a computation that others call, too: it then forwards a value only
 * as long as all of them pass the same one. */
static bool shares_callee(const Builder *builder, InstId id) {
  const Module *module = builder->module;
  for (uint32_t i = 0; i < inst_get(module, id)->num_callees; i++) {
    if (callers_of(&builder->context->values.graph, inst_callees(module, id)[i]).len > 1)
      return true;
  }
  return false;
}

/* What a node reads by a part of an operand is never computed a second time, so that it is the same
 * for all readers. */
static void keep_single(Builder *builder, const SearchNode *node, NodeReuse read) {
  SearchGraph *graph = builder->graph;
  for (;;) {
    const NodeOperand *operand = &graph->operands.data[node->first_operand + read.operand];
    SearchNode *source = &graph->nodes[operand->node];
    const NodePart *part = node_part(graph, operand->node, operand->first_part + read.part);
    if (part->operand == NO_ID) {
      source->flags &= ~(unsigned)NODE_CAN_CLONE;
      return;
    }
    read = (NodeReuse){part->operand, part->of_operand, false};
    node = source;
  }
}

static void add_parts(Builder *builder, InstId id, SearchNode *node) {
  const Dataflow *flow = &builder->context->values.flow;
  const HloBuffers *buffers = &builder->context->values.buffers;
  node->first_part = builder->graph->parts.len;
  node->num_parts = inst_shape(builder->module, id)->num_parts;
  note_operands(builder, id);
  bool has_shared_callee = shares_callee(builder, id);
  for (uint32_t i = 0; i < node->num_parts; i++) {
    ValueId value = dataflow_value(flow, id, i);
    NodePart part = {.operand = NO_ID, .overwriter = NO_ID};
    if (builder->seen_at[value]) {
      bool is_certain;
      NodeReuse from = forwarded_from(builder, id, i, value, &is_certain);
      part.operand = from.operand;
      part.of_operand = from.part;
      if (!is_certain || has_shared_callee) keep_single(builder, node, from);
    } else if (!builder->is_held[buffers->of[value]]) {
      part.bytes = bytes_of(builder, value);
      bool is_given = node->flags & NODE_IS_GIVEN;
      builder->graph->has_given_bytes |= is_given && part.bytes > 0;
      if (part.bytes > 0) add_reuses(builder, id, i, value, &part, &node->flags);
      if (builder->is_lent[buffers->of[value]]) node->flags &= ~(unsigned)NODE_CAN_CLONE;
    } else if (!hlo_buffer_is_alone(buffers, buffers->of[value]) &&
               !(node->flags & NODE_IS_GIVEN)) {
      node->flags &= ~(unsigned)NODE_CAN_CLONE; /* it writes into what lives all the time */
      if (builder->context->counts_twice) node->twice_bytes += bytes_of(builder, value);
    }
    *vec_push(builder->out, &builder->graph->parts) = part;
  }
  forget_operands(builder);
}

static void add_operands(Builder *builder, InstId id, SearchNode *node) {
  const Module *module = builder->module;
  node->first_operand = builder->graph->operands.len;
  node->num_operands = inst_get(module, id)->num_operands;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    *vec_push(builder->out, &builder->graph->operands) =
        (NodeOperand){.node = node_inst(builder->graph, operand)->node,
                      .first_part = *part_of(builder, operand),
                      .num_parts = inst_shape(module, operand)->num_parts};
  }
}

static void add_wait(Builder *builder, NodeId node) {
  *vec_push(builder->out, &builder->graph->waits) = node;
}

static void add_waits(Builder *builder, InstId id, NodeId number, SearchNode *node) {
  const Module *module = builder->module;
  node->first_wait = builder->graph->waits.len;
  IdList before = inst_control(module, id)->predecessors;
  for (uint32_t i = 0; i < before.len; i++)
    add_wait(builder, node_inst(builder->graph, id_list(module, before)[i])->node);
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    NodeId barrier = *barrier_of(builder, inst_operand(module, id, i));
    if (barrier != NO_ID) add_wait(builder, barrier);
  }
  if (inst_keeps_sequence(module, &builder->context->job->legality->effects, id)) {
    if (builder->last_effect != NO_ID) add_wait(builder, builder->last_effect);
    /* A collective that is computed later instead no longer stands between two others. */
    NodeId lasting = builder->last_lasting_effect;
    if (lasting != NO_ID && lasting != builder->last_effect) add_wait(builder, lasting);
    builder->last_effect = number;
    if (!(node->flags & NODE_CAN_CLONE)) builder->last_lasting_effect = number;
  }
  /* XLA:TPU has filled VMEM for the order in which these run. */
  bool is_given = node->flags & NODE_IS_GIVEN;
  if (!is_given && inst_is_placed(module, &builder->context->job->legality->placed, id)) {
    if (builder->last_placed != NO_ID) add_wait(builder, builder->last_placed);
    builder->last_placed = number;
  }
  node->num_waits = builder->graph->waits.len - node->first_wait;
}

static int64_t inner_bytes(const Builder *builder, InstId id) {
  if (!inst_runs_callees(builder->module, id)) return 0;
  int64_t most = 0;
  for (uint32_t i = 0; i < inst_get(builder->module, id)->num_callees; i++) {
    int64_t bytes = builder->context->inner_bytes[inst_callees(builder->module, id)[i]];
    if (bytes > most) most = bytes;
  }
  return most;
}

/* Whether a loop can run again: nothing but time is lost, and it is known how much. Whether its
 * memory allows it, search_graph_share_memory() decides. */
static bool may_repeat(const Builder *builder, InstId id) {
  const Module *module = builder->module;
  return inst_get(module, id)->opcode == OPCODE_WHILE && !inst_has_control(module, id) &&
         repeat_verdict(builder->context->job->legality, id, builder->scratch) == KEEP_NONE &&
         while_trip_count(module, id) >= 0;
}

/* Whether an instruction can run again, as far as its memory allows it. */
static unsigned run_flags(const Builder *builder, InstId id) {
  const RematJob *job = builder->context->job;
  bool repeats = may_repeat(builder, id);
  bool is_legal = repeats || recompute_verdict(job->legality, id) == KEEP_NONE;
  bool may_clone = repeats || clone_verdict(job->legality, id) == KEEP_NONE;
  bool may_recompute = !job->modes || job->modes & RH_REMAT_RECOMPUTE;
  /* What keeps a value in another form stays as it was put there. */
  const InstMap *copied_from = &job->rewrite->copied_from;
  bool is_form = id < copied_from->len && copied_from->data[id] != NO_ID;
  return (is_legal ? NODE_IS_LEGAL : 0) |
         (may_clone && may_recompute && !is_form ? NODE_CAN_CLONE : 0);
}

/* Whether an instruction copies a parameter that is overwritten later. XLA puts it anywhere before
 * that. The memory lives all the time, so the later the copy, the less memory; what little can use
 * it in between is worth less than the copy. */
static bool copies_lent(const Builder *builder, InstId id) {
  const Module *module = builder->module;
  const ValueAnalysis *values = &builder->context->values;
  if (inst_get(module, id)->opcode != OPCODE_COPY || inst_is_converting_copy(module, id))
    return false;
  InstId operand = inst_operand(module, id, 0);
  BufferId buffer = values->buffers.of[dataflow_value(&values->flow, operand, 0)];
  bool is_given =
      builder->graph->nodes[node_inst(builder->graph, operand)->node].flags & NODE_IS_GIVEN;
  return is_given && builder->is_lent[buffer];
}

static void add_node(Builder *builder, InstId id) {
  const Module *module = builder->module;
  const RematJob *job = builder->context->job;
  SearchGraph *graph = builder->graph;
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  NodeId number = graph->num_nodes++;
  SearchNode *node = &graph->nodes[number];
  *node = (SearchNode){.inst = id, .inner_bytes = inner_bytes(builder, id)};
  *node_inst(graph, id) = (NodeInst){.node = number, .home = number, .put_in = NO_ID};
  *part_of(builder, id) = 0;
  *barrier_of(builder, id) = NO_ID;
  bool is_given = opcode == OPCODE_PARAMETER || opcode == OPCODE_CONSTANT;
  node->flags = is_given ? NODE_IS_GIVEN : run_flags(builder, id);
  if (fusion_bundles_results(module, id)) node->flags |= NODE_CAN_SHRINK;
  if (opcode == OPCODE_TUPLE && !inst_has_control(module, id)) node->flags |= NODE_IS_TUPLE;
  if (opcode == OPCODE_WHILE) node->flags |= NODE_IS_LOOP;
  if (copies_lent(builder, id)) node->flags |= NODE_GOES_LATE;
  if (opcode_is_split(opcode) || opcode_is_async(opcode)) node->flags |= NODE_IS_FIXED;
  node->seconds = opcode == OPCODE_WHILE
                      ? search_context_seconds(builder->context, id)
                      : cost_seconds(module, job->costs, &builder->context->device, id);
  add_operands(builder, id, node);
  add_parts(builder, id, node);
  add_waits(builder, id, number, node);
}

/* For a get-tuple-element of a tuple, or of a barrier around a tuple: what was put in there. */
static InstId find_put_in(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_GET_TUPLE_ELEMENT) return NO_ID;
  InstId from = inst_operand(module, id, 0);
  if (inst_get(module, from)->opcode == OPCODE_OPT_BARRIER && !inst_has_control(module, from))
    from = inst_operand(module, from, 0);
  bool is_bundle =
      inst_get(module, from)->opcode == OPCODE_TUPLE && !inst_has_control(module, from);
  return is_bundle ? inst_operand(module, from, (uint32_t)inst_get(module, id)->index) : NO_ID;
}

/* A view stands for parts of the node that it comes from. */
static void add_view(Builder *builder, InstId id) {
  const Module *module = builder->module;
  SearchGraph *graph = builder->graph;
  InstId operand = inst_operand(module, id, 0), put_in = find_put_in(module, id);
  NodeInst *of_view = node_inst(graph, id);
  *of_view = *node_inst(graph, operand);
  of_view->put_in = put_in;
  if (put_in != NO_ID) {
    of_view->node = node_inst(graph, put_in)->node;
    *part_of(builder, id) = *part_of(builder, put_in);
    bool has_barrier = inst_get(module, operand)->opcode == OPCODE_OPT_BARRIER;
    *barrier_of(builder, id) =
        has_barrier ? node_inst(graph, operand)->node : *barrier_of(builder, put_in);
    return;
  }
  uint32_t part = *part_of(builder, operand);
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT)
    part += inst_shape(module, operand)->element_offsets[inst->index];
  *part_of(builder, id) = part;
  *barrier_of(builder, id) = *barrier_of(builder, operand);
}

/* The end reads what the computation returns, which therefore lives until then. */
static void add_end(Builder *builder) {
  SearchGraph *graph = builder->graph;
  InstId root = comp_get(builder->module, graph->comp)->root;
  /* The result is what the instruction itself returns. */
  graph->nodes[node_inst(graph, root)->node].flags &= ~(unsigned)NODE_CAN_CLONE;
  graph->nodes[graph->num_nodes++] = (SearchNode){.inst = NO_ID,
                                                  .first_operand = graph->operands.len,
                                                  .num_operands = 1,
                                                  .first_part = graph->parts.len,
                                                  .first_wait = graph->waits.len,
                                                  .flags = NODE_IS_END | NODE_IS_FIXED};
  *vec_push(builder->out, &graph->operands) =
      (NodeOperand){.node = node_inst(graph, root)->node,
                    .first_part = *part_of(builder, root),
                    .num_parts = inst_shape(builder->module, root)->num_parts};
}

/* Values that are cheap to compute from parameters and constants whose memory nobody takes. */
static void mark_sources(Builder *builder) {
  SearchGraph *graph = builder->graph;
  for (NodeId number = 0; number < graph->num_nodes; number++) {
    SearchNode *node = &graph->nodes[number];
    if (!(node->flags & NODE_CAN_CLONE)) continue;
    switch (inst_get(builder->module, node->inst)->opcode) {
      case OPCODE_BROADCAST:
      case OPCODE_CONVERT:
      case OPCODE_IOTA:
      case OPCODE_RESHAPE: break;
      default: continue;
    }
    bool is_source = true;
    for (uint32_t i = 0; i < node->num_operands; i++) {
      const NodeOperand *operand = &graph->operands.data[node->first_operand + i];
      is_source &= (graph->nodes[operand->node].flags & (NODE_IS_GIVEN | NODE_IS_SOURCE)) != 0;
      is_source &= node_part(graph, operand->node, operand->first_part)->overwriter == NO_ID;
    }
    if (is_source) node->flags |= NODE_IS_SOURCE;
  }
}

/* Readers come after what they read; a bypassed one does not count. */
static void mark_bypassed(Builder *builder) {
  SearchGraph *graph = builder->graph;
  bool *is_read = arena_zarray(builder->scratch, bool, graph->num_nodes);
  /* The root stays what it is, and so does what it is taken out of. */
  InstId root = comp_get(builder->module, graph->comp)->root;
  for (; graph->nodes[node_inst(graph, root)->home].inst != root;
       root = inst_operand(builder->module, root, 0))
    is_read[node_inst(graph, root)->home] = true;
  for (NodeId number = graph->num_nodes; number-- > 0;) {
    SearchNode *node = &graph->nodes[number];
    if (node->flags & NODE_IS_TUPLE && !is_read[number]) {
      node->flags |= NODE_IS_BYPASSED;
      continue;
    }
    for (uint32_t i = 0; i < node->num_operands; i++)
      is_read[graph->operands.data[node->first_operand + i].node] = true;
  }
}

/* ---- graphs ---- */

const SearchGraph *search_graph_without_loops(const SearchGraph *graph, Arena *out) {
  const unsigned repeated = NODE_IS_LOOP | NODE_CAN_CLONE;
  bool has_any = false;
  for (NodeId node = 0; node < graph->num_nodes; node++)
    has_any |= (graph->nodes[node].flags & repeated) == repeated;
  if (!has_any) return graph;
  SearchGraph *without = arena_alloc(out, sizeof *without);
  *without = *graph;
  without->nodes = arena_array(out, SearchNode, graph->num_nodes);
  memcpy(without->nodes, graph->nodes, graph->num_nodes * sizeof *without->nodes);
  for (NodeId node = 0; node < graph->num_nodes; node++) {
    if (graph->nodes[node].flags & NODE_IS_LOOP)
      without->nodes[node].flags &= ~(unsigned)NODE_CAN_CLONE;
  }
  return without;
}

SearchGraph search_graph_build(const SearchContext *context, CompId comp, Arena *out,
                               Arena *scratch) {
  const Module *module = context->job->rewrite->module;
  Sequence sequence = context->job->schedule->of[comp];
  uint32_t num_insts = comp_num_insts(module, comp);
  Arena *inner = arena_new(arena_options(scratch));
  SearchGraph graph = {.comp = comp,
                       .parameters = context->job->parameters,
                       .seconds_per_byte = 1 / context->device.memory_bandwidth,
                       .nodes = arena_array(out, SearchNode, (size_t)sequence.len + 1),
                       .tie_of = arena_zarray(out, uint8_t, (size_t)sequence.len + 1),
                       .place_of = context->place_of,
                       .insts = arena_array(out, NodeInst, num_insts)};
  if (num_insts) memset(graph.insts, 0xff, num_insts * sizeof *graph.insts);
  Builder builder = {.context = context,
                     .module = module,
                     .graph = &graph,
                     .part_of = arena_zarray(inner, uint32_t, num_insts),
                     .barrier_of = arena_array(inner, NodeId, num_insts),
                     .seen_at = context->space->seen_at,
                     .is_held = context->space->is_held,
                     .is_lent = context->space->is_lent,
                     .last_placed = NO_ID,
                     .last_effect = NO_ID,
                     .last_lasting_effect = NO_ID,
                     .out = out,
                     .scratch = inner};
  mark_held(&builder, comp);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (inst_is_pass_through(module, id)) {
      add_view(&builder, id);
    } else {
      add_node(&builder, id);
    }
  }
  add_end(&builder);
  graph.first_form = graph.num_nodes;
  search_graph_share_memory(&graph, context, out, inner);
  mark_sources(&builder);
  mark_bypassed(&builder);
  if (comp == module->entry) graph.held_bytes = held_bytes(&builder);
  forget_held(&builder);
  arena_free(inner);
  return graph;
}
