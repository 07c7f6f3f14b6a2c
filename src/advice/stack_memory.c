#include "advice/stack_memory.h"

#include "advice/frames.h"
#include "advice/shrink.h"
#include "emit/human.h"

static BufferId buffer_of(const Advisor *advisor, InstId id, uint32_t part) {
  const ValueAnalysis *values = &advisor->values;
  return values->buffers.of[dataflow_value(&values->flow, id, part)];
}

/* ---- the elements of a loop's state ---- */

/* The parts of a while's result that are elements of its state. */
typedef struct State {
  InstId id;
  InstId init, param, root;
  const Shape *shape;
} State;

static bool state_of(const Module *module, InstId id, State *state) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_WHILE || inst->num_operands != 1) return false;
  const Computation *body = comp_get(module, inst_callees(module, id)[0]);
  if (body->params.len != 1 || !shape_is_tuple(inst_shape(module, id))) return false;
  *state = (State){.id = id,
                   .init = inst_operand(module, id, 0),
                   .param = id_list(module, body->params)[0],
                   .root = body->root,
                   .shape = inst_shape(module, id)};
  return true;
}

static bool is_changed(const Advisor *advisor, const State *state, uint32_t part) {
  const Dataflow *flow = &advisor->values.flow;
  return dataflow_value(flow, state->root, part) != dataflow_value(flow, state->param, part);
}

static const Shape *part_shape(const Module *module, const State *state, uint32_t part) {
  return shape_get(&module->shapes,
                   shape_part(&module->shapes, inst_get(module, state->id)->shape, part));
}

/* Whether an array can have a slice for each iteration, perhaps as a bitcast of the stack. */
static bool has_slices(const Shape *shape, int64_t trips) {
  return shape_is_array(shape) && shape->rank > 0 && shape->num_elements > 0 &&
         shape->dims[0] % trips == 0;
}

/* Whether the loop has the buffer in its state, and hands it on unchanged. */
static bool reads_buffer(const Advisor *advisor, const State *state, BufferId buffer) {
  for (uint32_t i = 0; i < state->shape->rank; i++) {
    uint32_t part = state->shape->element_offsets[i];
    if (buffer_of(advisor, state->id, part) == buffer && !is_changed(advisor, state, part))
      return true;
  }
  return false;
}

/* The buffer of a copy of a buffer, in another layout or type, that the backward loop has in its
 * state; NO_ID = there is none. */
static BufferId copy_for(const Advisor *advisor, const State *backward, BufferId buffer,
                         int64_t num_elements) {
  const Module *module = advisor->module;
  const ValueAnalysis *values = &advisor->values;
  for (uint32_t i = values->buffers.first_value[buffer];
       i < values->buffers.first_value[buffer + 1]; i++) {
    ValueId value = values->buffers.values[i];
    const Dataflow *flow = &values->flow;
    for (uint32_t p = flow->first_position[value]; p < flow->first_position[value + 1]; p++) {
      InstId id = flow->positions[p].inst;
      for (uint32_t u = 0; u < inst_get(module, id)->users.len; u++) {
        InstId user = inst_users(module, id)[u];
        const Shape *shape = inst_shape(module, user);
        bool is_copy = shape_is_array(shape) && shape->num_elements == num_elements &&
                       dataflow_covers(flow, user);
        if (!is_copy) continue;
        BufferId other = buffer_of(advisor, user, 0);
        if (other != buffer && reads_buffer(advisor, backward, other)) return other;
      }
    }
  }
  return NO_ID;
}

/* A stack that an argument comes in is no stack that is made here. */
static bool is_of_argument(const Advisor *advisor, BufferId buffer) {
  const HloBuffers *buffers = &advisor->values.buffers;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    InstId id = advisor->values.flow.values.data[buffers->values[i]].inst;
    if (report_is_argument(advisor->module, id)) return true;
  }
  return false;
}

/* ---- pairs ---- */

static double body_seconds(const Advisor *advisor, InstId loop, Arena *scratch) {
  const Module *module = advisor->module;
  Arena *arena = arena_new(arena_options(scratch));
  CostTable costs = cost_analyze(module, arena, scratch);
  const DeviceProfile *device = advisor->request->device;
  const double *runs =
      cost_runs(module, &costs, device, advisor->request->default_trip_count, arena, scratch);
  CompId body = inst_callees(module, loop)[0];
  double seconds = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, body); i++) {
    InstId id = comp_inst(module, body, i);
    seconds += runs[body] * cost_seconds(module, &costs, device, id);
    if (!opcode_is_control_flow((Opcode)inst_get(module, id)->opcode)) continue;
    for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
      CompId comp = inst_callees(module, id)[c];
      for (uint32_t k = 0; k < comp_num_insts(module, comp); k++)
        seconds += runs[comp] * cost_seconds(module, &costs, device, comp_inst(module, comp, k));
    }
  }
  arena_free(arena);
  return seconds;
}

/* The stack in which a checkpoint would keep what is carried: one of the same size, or the smallest
 * one that has room. */
static void choose_kept(const Advisor *advisor, const State *state, LoopPair *pair) {
  const Module *module = advisor->module;
  int64_t best = INT64_MAX, wanted = pair->carried_bytes * pair->trips;
  for (uint32_t i = 0; i < state->shape->rank; i++) {
    uint32_t part = state->shape->element_offsets[i];
    BufferId buffer = buffer_of(advisor, state->id, part);
    int64_t bytes = part_shape(module, state, part)->bytes;
    if (!pair->is_stack[buffer] || bytes < wanted || bytes >= best) continue;
    best = bytes;
    pair->kept = buffer;
  }
}

static void make_pair(const Advisor *advisor, const State *forward, const State *backward,
                      LoopPairs *pairs, Arena *out) {
  const Module *module = advisor->module;
  int64_t trips = while_trip_count(module, forward->id);
  if (trips < 2) return;
  LoopPair pair = {.forward = forward->id,
                   .backward = backward->id,
                   .trips = trips,
                   .is_stack = arena_zarray(out, bool, advisor->values.buffers.num_buffers),
                   .kept = NO_ID};
  for (uint32_t i = 0; i < forward->shape->rank; i++) {
    uint32_t part = forward->shape->element_offsets[i];
    const Shape *shape = part_shape(module, forward, part);
    BufferId buffer = buffer_of(advisor, forward->id, part);
    if (!shape_is_array(shape) || !is_changed(advisor, forward, part)) continue;
    bool may_be = has_slices(shape, trips) && !is_of_argument(advisor, buffer);
    bool is_direct = may_be && reads_buffer(advisor, backward, buffer);
    BufferId copy =
        may_be && !is_direct ? copy_for(advisor, backward, buffer, shape->num_elements) : NO_ID;
    if (!is_direct && copy == NO_ID) {
      bool is_other_stack = shape->rank > 0 && shape->dims[0] == trips;
      if (!is_other_stack && !shape_is_effective_scalar(shape)) pair.carried_bytes += shape->bytes;
      continue;
    }
    if (pair.is_stack[buffer]) continue;
    pair.is_stack[buffer] = true;
    if (copy != NO_ID) pair.is_stack[copy] = true;
    pair.stacked_bytes += shape->bytes;
  }
  if (pair.stacked_bytes < advisor->before.counted_bytes / 50) return;
  choose_kept(advisor, forward, &pair);
  if (pair.kept == NO_ID && pair.carried_bytes > 0) return;
  pair.forward_seconds = body_seconds(advisor, forward->id, advisor->scratch);
  *vec_push(out, &pairs->list) = pair;
}

/* The backward loop is the next one in the same computation that has the forward loop's stacks. */
LoopPairs loop_pairs_find(Advisor *advisor, Arena *out) {
  const Module *module = advisor->module;
  LoopPairs pairs = {0};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!comp_is_sequential(&advisor->values.graph, comp)) continue;
    Sequence sequence = advisor->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      State forward, backward;
      if (!state_of(module, sequence.ids[pos], &forward)) continue;
      uint32_t num_before = pairs.list.len;
      for (SchedPos later = pos + 1; later < sequence.len && pairs.list.len == num_before;
           later++) {
        if (state_of(module, sequence.ids[later], &backward))
          make_pair(advisor, &forward, &backward, &pairs, out);
      }
    }
  }
  return pairs;
}

/* ---- its place ---- */

ScanPlace loop_pair_place(Advisor *advisor, const LoopPair *pair) {
  const Module *module = advisor->module;
  SourcePlace place = advisor_place(advisor, pair->forward);
  ScanPlace scan = {.place = place, .trips = pair->trips, .live_bytes = pair->stacked_bytes};
  CompId body = inst_callees(module, pair->forward)[0];
  scan.where = advisor_where(advisor, place);
  for (uint32_t i = 0; i < comp_num_insts(module, body) && !scan.body.len; i++) {
    Str name = function_called_at(module, comp_inst(module, body, i), place);
    name = human_utf8(name, advisor->out);
    if (name.len) scan.body = (Str){arena_strndup(advisor->out, name.data, name.len), name.len};
  }
  return scan;
}

/* ---- simulation ---- */

typedef struct Slices {
  const Advisor *advisor;
  const LoopPair *pair;
  int64_t num_kept;
} Slices;

/* An array of `num` bytes in the layout of another one: its first dimension, or all in one row. */
static ShapeId array_of_bytes(Module *module, ShapeId array, int64_t bytes) {
  const Shape *shape = shape_get(&module->shapes, array);
  ArraySpec spec = shape_spec(shape);
  int64_t *dims = arena_array(module->arena, int64_t, shape->rank);
  memcpy(dims, shape->dims, shape->rank * sizeof *dims);
  int64_t row_bytes = shape->bytes / shape->dims[0];
  if (row_bytes <= 0) return array;
  dims[0] = (bytes + row_bytes - 1) / row_bytes;
  if (dims[0] < 1) dims[0] = 1;
  if (dims[0] > shape->dims[0]) dims[0] = shape->dims[0];
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

static ShapeId shrink_stack(Module *module, InstId id, uint32_t part, ShapeId array,
                            const void *context) {
  const Slices *slices = context;
  const LoopPair *pair = slices->pair;
  BufferId buffer = buffer_of(slices->advisor, id, part);
  const Shape *shape = shape_get(&module->shapes, array);
  if (!pair->is_stack[buffer] || !has_slices(shape, pair->trips)) return array;
  if (buffer == pair->kept)
    return array_of_bytes(module, array, pair->carried_bytes * slices->num_kept);
  return array_of_bytes(module, array, shape->bytes / pair->trips);
}

rh_module *loop_pair_simulate(const Advisor *advisor, const LoopPair *pair, int64_t num_slices) {
  Slices slices = {advisor, pair, num_slices};
  return shrink_parts(advisor, shrink_stack, &slices);
}
