#include "advice/stack_memory.h"

#include <math.h>

#include "advice/frames.h"
#include "advice/region_role.h"
#include "advice/shrink.h"
#include "emit/human.h"
#include "ir/rows.h"
#include "remat/rewrite/rewrite.h"

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

/* Whether a value is what a loop returns, or a part of it. */
static bool is_result_of(const Module *module, InstId id, InstId loop) {
  while (id != loop && inst_is_pass_through(module, id))
    id = inst_operand(module, id, 0);
  return id == loop;
}

/* Lists the copies of a buffer that the forward loop has filled, in another layout or type. What is
 * copied before the forward loop are the first values of other stacks. */
static void find_copies(const Advisor *advisor, InstId forward, BufferId buffer,
                        int64_t num_elements, IdVec *copies, Arena *out) {
  const Module *module = advisor->module;
  const ValueAnalysis *values = &advisor->values;
  for (uint32_t i = values->buffers.first_value[buffer];
       i < values->buffers.first_value[buffer + 1]; i++) {
    ValueId value = values->buffers.values[i];
    const Dataflow *flow = &values->flow;
    for (uint32_t p = flow->first_position[value]; p < flow->first_position[value + 1]; p++) {
      InstId id = flow->positions[p].inst;
      if (!is_result_of(module, id, forward)) continue;
      for (uint32_t u = 0; u < inst_get(module, id)->users.len; u++) {
        InstId user = inst_users(module, id)[u];
        const Shape *shape = inst_shape(module, user);
        /* An element of a tuple that has the stack is a value of its own, and so is what is
         * computed from the stack, such as gradients of what the loop returns. */
        bool is_copy = shape_is_array(shape) && shape->num_elements == num_elements &&
                       inst_get(module, user)->opcode != OPCODE_GET_TUPLE_ELEMENT &&
                       region_only_forms(module, user) && dataflow_covers(flow, user);
        if (is_copy && buffer_of(advisor, user, 0) != buffer)
          *vec_push(out, copies) = buffer_of(advisor, user, 0);
      }
    }
  }
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

/* The state of a loop, and the computation that runs it. */
typedef struct PlacedLoop {
  State state;
  CompId comp;
} PlacedLoop;

/* An element of a forward loop's state that may be a stack, and its copies behind the loop. */
typedef struct Filled {
  uint32_t element;
  BufferId buffer;
  IdVec copies; /* by BufferId */
} Filled;

typedef struct Finder {
  const Advisor *advisor;
  VEC(PlacedLoop) loops; /* of each computation in the order of its schedule */
  Rows readers;          /* by BufferId: the loops that have it in their states unchanged */
  CostTable costs;
  const double *runs; /* by CompId */
  Arena *arena;
} Finder;

static double body_seconds(const Finder *finder, InstId loop) {
  const Module *module = finder->advisor->module;
  const DeviceProfile *device = finder->advisor->request->device;
  CompId body = inst_callees(module, loop)[0];
  double seconds = 0;
  for (uint32_t i = 0; i < comp_num_insts(module, body); i++) {
    InstId id = comp_inst(module, body, i);
    seconds += finder->runs[body] * cost_seconds(module, &finder->costs, device, id);
    if (!opcode_is_control_flow((Opcode)inst_get(module, id)->opcode)) continue;
    for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
      CompId comp = inst_callees(module, id)[c];
      for (uint32_t k = 0; k < comp_num_insts(module, comp); k++)
        seconds += finder->runs[comp] *
                   cost_seconds(module, &finder->costs, device, comp_inst(module, comp, k));
    }
  }
  return seconds;
}

/* What is carried and stacked already may be stacked in a narrower type than it is carried in,
 * because the backward loop needs no more of it. */
static void narrow_carried(const Advisor *advisor, const State *forward, LoopPair *pair) {
  for (uint32_t element = 0; element < forward->shape->rank; element++) {
    uint32_t part = forward->shape->element_offsets[element];
    const Shape *shape = part_shape(advisor->module, forward, part);
    int64_t narrow = INT64_MAX;
    for (uint32_t i = 0; i < pair->stacks.len; i++) {
      const StackMemory *stack = &pair->stacks.data[i];
      bool has_it = stack->source.carried == element && shape_is_array(shape);
      int64_t bytes = stack->bytes / pair->trips;
      if (has_it && bytes < narrow) narrow = bytes;
    }
    if (narrow < shape->bytes && is_changed(advisor, forward, part))
      pair->carried_bytes -= shape->bytes - narrow;
  }
}

static bool pair_has(const LoopPair *pair, BufferId buffer) {
  for (uint32_t i = 0; i < pair->memory.len; i++) {
    if (pair->memory.data[i] == buffer) return true;
  }
  return false;
}

/* Adds the copies of a stack that the backward loop has in its state. Returns the first of them;
 * NO_ID = there is none. */
static BufferId add_copies(const Advisor *advisor, const Filled *filled, const State *backward,
                           LoopPair *pair, Arena *out) {
  BufferId first = NO_ID;
  for (uint32_t i = 0; i < filled->copies.len; i++) {
    BufferId copy = filled->copies.data[i];
    if (!reads_buffer(advisor, backward, copy)) continue;
    *vec_push(out, &pair->memory) = copy;
    if (first == NO_ID) first = copy;
  }
  return first;
}

static void add_stacks(const Advisor *advisor, const State *forward, const State *backward,
                       const Filled *filled, LoopPair *pair, Arena *out) {
  const Module *module = advisor->module;
  for (uint32_t i = 0; i < forward->shape->rank; i++) {
    uint32_t part = forward->shape->element_offsets[i];
    const Shape *shape = part_shape(module, forward, part);
    if (!shape_is_array(shape) || !is_changed(advisor, forward, part)) continue;
    BufferId buffer = buffer_of(advisor, forward->id, part);
    bool may_be = filled->element == i;
    bool is_direct = may_be && reads_buffer(advisor, backward, buffer);
    BufferId copy = may_be ? add_copies(advisor, filled, backward, pair, out) : NO_ID;
    filled += may_be;
    if (!is_direct && copy == NO_ID) {
      bool is_other_stack = shape->rank > 0 && shape->dims[0] == pair->trips;
      if (!is_other_stack && !shape_is_effective_scalar(shape)) pair->carried_bytes += shape->bytes;
      continue;
    }
    if (pair_has(pair, buffer)) continue;
    *vec_push(out, &pair->memory) = buffer;
    pair->stacked_bytes += shape->bytes;
    *vec_push(out, &pair->stacks) = (StackMemory){
        .buffer = buffer,
        .reader = is_direct ? buffer : copy,
        .shape = shape_part(&module->shapes, inst_get(module, forward->id)->shape, part),
        .source = stack_source_of(module, inst_callees(module, forward->id)[0], i),
        .bytes = shape->bytes};
  }
}

/* `filled`: what may be stacks, in the order of elements, and after it one of no element. */
static void make_pair(const Finder *finder, const State *forward, const State *backward,
                      const Filled *filled, LoopPairs *pairs, Arena *out) {
  const Advisor *advisor = finder->advisor;
  int64_t trips = while_trip_count(advisor->module, forward->id);
  LoopPair pair = {.forward = forward->id, .backward = backward->id, .trips = trips};
  add_stacks(advisor, forward, backward, filled, &pair, out);
  narrow_carried(advisor, forward, &pair);
  if (pair.stacked_bytes < advisor->before.counted_bytes / 50) return;
  for (uint32_t i = 0; i < backward->shape->rank; i++) {
    uint32_t part = backward->shape->element_offsets[i];
    const Shape *shape = part_shape(advisor->module, backward, part);
    if (!shape_is_array(shape) || shape_is_effective_scalar(shape)) continue;
    if (pair_has(&pair, buffer_of(advisor, backward->id, part))) continue;
    bool has_one_of_each = shape->rank > 0 && shape->dims[0] == trips;
    if (has_one_of_each) {
      pair.sliced_bytes += shape->bytes;
    } else if (is_changed(advisor, backward, part)) {
      pair.summed_bytes += shape->bytes;
    }
  }
  pair.forward_seconds = body_seconds(finder, forward->id);
  *vec_push(out, &pairs->list) = pair;
}

/* ---- its place ---- */

static ScanPlace place_of(Advisor *advisor, const LoopPair *pair) {
  const Module *module = advisor->module;
  SourcePlace place = advisor_place(advisor, pair->forward);
  ScanPlace scan = {
      .place = place, .trips = pair->trips, .num_loops = 1, .live_bytes = pair->stacked_bytes};
  CompId body = inst_callees(module, pair->forward)[0];
  scan.where = advisor_where(advisor, place);
  for (uint32_t i = 0; i < comp_num_insts(module, body) && !scan.body.len; i++) {
    Str name = function_called_by(module, comp_inst(module, body, i), pair->forward);
    name = human_utf8(name, advisor->out);
    if (name.len) scan.body = (Str){arena_strndup(advisor->out, name.data, name.len), name.len};
  }
  return scan;
}

static void find_scans(Advisor *advisor, LoopPairs *pairs) {
  for (uint32_t i = 0; i < pairs->list.len; i++) {
    LoopPair *pair = &pairs->list.data[i];
    pair->place = place_of(advisor, pair);
    for (pair->scan = 0; pair->scan < i; pair->scan++) {
      LoopPair *first = &pairs->list.data[pair->scan];
      if (first->scan != pair->scan || !scan_is_same(&first->place, &pair->place)) continue;
      first->place.num_loops++;
      first->place.live_bytes += pair->stacked_bytes;
      break;
    }
  }
}

int64_t loop_pair_segment(const LoopPair *pair) {
  for (int64_t length = (int64_t)sqrt((double)pair->trips); length >= 2; length--) {
    if (pair->trips % length == 0) return length;
  }
  return 0;
}

double loop_pairs_seconds(const LoopPairs *pairs, uint32_t scan) {
  double seconds = 0;
  for (uint32_t i = scan; i < pairs->list.len; i++) {
    if (pairs->list.data[i].scan == scan) seconds += pairs->list.data[i].forward_seconds;
  }
  return seconds;
}

/* ---- all of them ---- */

static void find_loops(Finder *finder) {
  const Advisor *advisor = finder->advisor;
  const Module *module = advisor->module;
  RowItems readers = {0};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!comp_is_sequential(&advisor->values.graph, comp)) continue;
    Sequence sequence = advisor->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      PlacedLoop loop = {.comp = comp};
      if (!state_of(module, sequence.ids[pos], &loop.state)) continue;
      for (uint32_t i = 0; i < loop.state.shape->rank; i++) {
        uint32_t part = loop.state.shape->element_offsets[i];
        if (is_changed(advisor, &loop.state, part)) continue;
        BufferId buffer = buffer_of(advisor, loop.state.id, part);
        *vec_push(finder->arena, &readers) = (RowItem){buffer, finder->loops.len};
      }
      *vec_push(finder->arena, &finder->loops) = loop;
    }
  }
  finder->readers = rows_build(&readers, advisor->values.buffers.num_buffers, finder->arena);
}

/* The first loop after `after` that has the buffer in its state unchanged. */
static uint32_t next_reader(const Finder *finder, BufferId buffer, uint32_t after) {
  for (uint32_t i = finder->readers.first[buffer]; i < finder->readers.first[buffer + 1]; i++) {
    if (finder->readers.ids[i] > after) return finder->readers.ids[i];
  }
  return NO_ID;
}

/* The first loop after `after` that has a stack, or a copy of one. */
static uint32_t next_backward(const Finder *finder, const Filled *filled, uint32_t after) {
  uint32_t next = NO_ID;
  for (; filled->element != NO_ID; filled++) {
    uint32_t direct = next_reader(finder, filled->buffer, after);
    if (direct < next) next = direct;
    for (uint32_t i = 0; i < filled->copies.len; i++) {
      uint32_t through = next_reader(finder, filled->copies.data[i], after);
      if (through < next) next = through;
    }
  }
  return next;
}

static const Filled *find_filled(const Advisor *advisor, const State *forward, int64_t trips,
                                 Arena *out) {
  Filled *filled = arena_array(out, Filled, forward->shape->rank + 1);
  uint32_t num_filled = 0;
  for (uint32_t i = 0; i < forward->shape->rank; i++) {
    uint32_t part = forward->shape->element_offsets[i];
    const Shape *shape = part_shape(advisor->module, forward, part);
    if (!shape_is_array(shape) || !is_changed(advisor, forward, part)) continue;
    BufferId buffer = buffer_of(advisor, forward->id, part);
    if (!has_slices(shape, trips) || is_of_argument(advisor, buffer)) continue;
    Filled one = {.element = i, .buffer = buffer};
    find_copies(advisor, forward->id, buffer, shape->num_elements, &one.copies, out);
    filled[num_filled++] = one;
  }
  filled[num_filled] = (Filled){.element = NO_ID};
  return filled;
}

/* The backward loop is the next one in the same computation that has the forward loop's stacks. */
LoopPairs loop_pairs_find(Advisor *advisor, Arena *out) {
  const Module *module = advisor->module;
  LoopPairs pairs = {0};
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Finder finder = {.advisor = advisor, .arena = arena};
  find_loops(&finder);
  if (finder.loops.len > 1) {
    finder.costs = cost_analyze(module, arena, advisor->scratch);
    finder.runs = cost_runs(module, &finder.costs, advisor->request->device,
                            advisor->request->default_trip_count, arena, advisor->scratch);
  }
  for (uint32_t i = 0; i < finder.loops.len; i++) {
    const State *forward = &finder.loops.data[i].state;
    int64_t trips = while_trip_count(module, forward->id);
    if (trips < 2) continue;
    const Filled *filled = find_filled(advisor, forward, trips, arena);
    uint32_t num_before = pairs.list.len, later = i;
    while (pairs.list.len == num_before) {
      later = next_backward(&finder, filled, later);
      if (later == NO_ID || finder.loops.data[later].comp != finder.loops.data[i].comp) break;
      make_pair(&finder, forward, &finder.loops.data[later].state, filled, &pairs, out);
    }
  }
  arena_free(arena);
  find_scans(advisor, &pairs);
  return pairs;
}

/* ---- simulation ---- */

typedef struct Slices {
  const Advisor *advisor;
  const LoopPair **pair_of; /* by BufferId, of what is a stack; NULL = nothing is changed */
  int64_t *kept_bytes;      /* likewise, of what is carried; 0 = the stack has one slice only */
} Slices;

/* An array of so many bytes in the layout of another one, or of one element. */
static ShapeId array_of_bytes(Module *module, ShapeId array, int64_t bytes) {
  const Shape *shape = shape_get(&module->shapes, array);
  ArraySpec spec = shape_spec(shape);
  int64_t *dims = arena_array(module->arena, int64_t, shape->rank);
  int64_t row_bytes = shape->bytes / shape->dims[0];
  for (uint32_t i = 0; i < shape->rank; i++)
    dims[i] = bytes > 0 ? shape->dims[i] : 1;
  if (bytes > 0 && row_bytes > 0) dims[0] = (bytes + row_bytes - 1) / row_bytes;
  if (dims[0] > shape->dims[0]) dims[0] = shape->dims[0];
  spec.dims = dims;
  return shape_array(&module->shapes, &spec);
}

static ShapeId shrink_stack(Module *module, InstId id, uint32_t part, ShapeId array,
                            const void *context) {
  const Slices *slices = context;
  BufferId buffer = buffer_of(slices->advisor, id, part);
  const Shape *shape = shape_get(&module->shapes, array);
  const LoopPair *pair = slices->pair_of[buffer];
  if (!pair || !has_slices(shape, pair->trips)) return array;
  return array_of_bytes(module, array, slices->kept_bytes[buffer]);
}

/* Whether an instruction only takes a slice, perhaps in another layout or type: then the slice is a
 * value of the body as it is. */
static bool is_slice(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE) return true;
  if (inst_get(module, id)->opcode != OPCODE_FUSION) return false;
  InstId at = comp_get(module, inst_callees(module, id)[0])->root;
  for (;;) {
    switch (inst_get(module, at)->opcode) {
      case OPCODE_DYNAMIC_SLICE: return true;
      case OPCODE_BITCAST:
      case OPCODE_CONVERT:
      case OPCODE_COPY:
      case OPCODE_RESHAPE:
      case OPCODE_TRANSPOSE: at = inst_operand(module, at, 0); break;
      default: return false;
    }
  }
}

/* The last position in the backward loop's body that reads a slice of a stack as a part of
 * something else; NO_ID = none. */
static SchedPos last_read_of(const Advisor *advisor, const LoopPair *pair, BufferId buffer) {
  const Module *module = advisor->module;
  CompId body = inst_callees(module, pair->backward)[0];
  Sequence sequence = advisor->schedule->of[body];
  SchedPos last = NO_ID;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (inst_is_pass_through(module, id) || inst_is_root(module, id) || is_slice(module, id))
      continue;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      InstId operand = inst_operand(module, id, i);
      bool is_array = dataflow_covers(&advisor->values.flow, operand) &&
                      shape_is_array(inst_shape(module, operand));
      if (is_array && buffer_of(advisor, operand, 0) == buffer) last = pos;
    }
  }
  return last;
}

/* Whether a stack is the one of all that come from its instruction that stands for them, the
 * largest: XLA:TPU and XLA:GPU fuse the rest with what reads it, XLA:CPU holds all of them. What is
 * carried is read where it is. */
static bool is_held(const LoopPair *pair, uint32_t index, const Target *target) {
  const StackMemory *stack = &pair->stacks.data[index];
  if (strcmp(target->name, "cpu") == 0) return true;
  if (stack->source.carried != NO_ID || stack->source.maker == NO_ID) return false;
  for (uint32_t i = 0; i < pair->stacks.len; i++) {
    const StackMemory *other = &pair->stacks.data[i];
    bool is_before = other->bytes > stack->bytes || (other->bytes == stack->bytes && i < index);
    if (other->source.maker == stack->source.maker && is_before) return false;
  }
  return true;
}

/* What one iteration stacked: computed again at the beginning of the backward body, all of it, and
 * kept until its last reader there, which a slice of it stands for. */
typedef struct Again {
  InstId value, end;
  SchedPos last;
} Again;

static void add_again(const Advisor *advisor, const LoopPair *pair, rh_module *made,
                      int64_t held_bytes, Arena *scratch) {
  Module *module = made->module;
  CompId body = inst_callees(module, pair->backward)[0];
  Rewrite rewrite = rewrite_begin(module);
  VEC(Again) list = {0};
  for (uint32_t i = 0; i < pair->stacks.len; i++) {
    if (!is_held(pair, i, module->backend.target)) continue;
    const StackMemory *stack = &pair->stacks.data[i];
    SchedPos last = last_read_of(advisor, pair, stack->reader);
    if (last == NO_ID) continue;
    int64_t bytes = stack->bytes / pair->trips;
    ShapeId slice = array_of_bytes(module, stack->shape, bytes);
    InstId value =
        rewrite_add_helper(&rewrite, body, (InstSpec){.opcode = OPCODE_IOTA, .shape = slice});
    ShapeId one = array_of_bytes(module, stack->shape, 0);
    InstId end = rewrite_add_helper(
        &rewrite, body,
        (InstSpec){.opcode = OPCODE_SLICE, .shape = one, .operands = &value, .num_operands = 1});
    *vec_push(scratch, &list) = (Again){value, end, last};
  }
  Sequence old = made->schedule.of[body];
  if (held_bytes > 0) {
    ArraySpec spec = {.type = TYPE_U8, .rank = 1, .dims = &held_bytes};
    int64_t one = 1;
    ArraySpec end_spec = {.type = TYPE_U8, .rank = 1, .dims = &one};
    InstSpec iota = {.opcode = OPCODE_IOTA, .shape = shape_array(&module->shapes, &spec)};
    InstId value = rewrite_add_helper(&rewrite, body, iota);
    InstSpec slice = {.opcode = OPCODE_SLICE,
                      .shape = shape_array(&module->shapes, &end_spec),
                      .operands = &value,
                      .num_operands = 1};
    InstId end = rewrite_add_helper(&rewrite, body, slice);
    *vec_push(scratch, &list) = (Again){value, end, old.len - 1};
  }
  Sequence sequence = {.ids = arena_array(made->arena, InstId, (size_t)old.len + 2 * list.len)};
  bool is_begun = false;
  for (SchedPos pos = 0; pos < old.len; pos++) {
    if (!is_begun && inst_get(module, old.ids[pos])->opcode != OPCODE_PARAMETER) {
      for (uint32_t i = 0; i < list.len; i++)
        sequence.ids[sequence.len++] = list.data[i].value;
      is_begun = true;
    }
    sequence.ids[sequence.len++] = old.ids[pos];
    for (uint32_t i = 0; i < list.len; i++) {
      if (list.data[i].last == pos) sequence.ids[sequence.len++] = list.data[i].end;
    }
  }
  made->schedule.of[body] = sequence;
}

/* What is carried takes the memory of as many stacks as it needs, in their order. */
static void add_pair(Slices *slices, const LoopPair *pair, int64_t num_slices) {
  for (uint32_t i = 0; i < pair->memory.len; i++)
    slices->pair_of[pair->memory.data[i]] = pair;
  int64_t left = pair->carried_bytes * num_slices;
  for (uint32_t i = 0; i < pair->stacks.len && left > 0; i++) {
    const StackMemory *stack = &pair->stacks.data[i];
    int64_t bytes = left < stack->bytes ? left : stack->bytes;
    slices->kept_bytes[stack->buffer] = bytes;
    left -= bytes;
  }
}

rh_module *loop_pairs_simulate(const Advisor *advisor, const LoopPairs *pairs, uint32_t scan,
                               bool is_nested) {
  Arena *arena = arena_new(arena_options(advisor->scratch));
  uint32_t num_buffers = advisor->values.buffers.num_buffers;
  Slices slices = {advisor, arena_zarray(arena, const LoopPair *, num_buffers),
                   arena_zarray(arena, int64_t, num_buffers)};
  for (uint32_t i = scan; i < pairs->list.len; i++) {
    const LoopPair *pair = &pairs->list.data[i];
    int64_t length = is_nested ? loop_pair_segment(pair) : 0;
    int64_t num_slices = length > 0 ? pair->trips / length + length : pair->trips;
    if (pair->scan == scan) add_pair(&slices, pair, num_slices);
  }
  rh_module *made = shrink_parts(advisor, shrink_stack, &slices);
  for (uint32_t i = scan; i < pairs->list.len; i++) {
    const LoopPair *pair = &pairs->list.data[i];
    int64_t length = is_nested ? loop_pair_segment(pair) : 0;
    int64_t held_bytes =
        length > 0 ? pair->summed_bytes + pair->sliced_bytes / pair->trips * length : 0;
    if (pair->scan == scan) add_again(advisor, pair, made, held_bytes, arena);
  }
  arena_free(arena);
  return made;
}
