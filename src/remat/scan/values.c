#include "remat/scan/values.h"

#include <stdlib.h>

#include "analysis/flow/alias.h"
#include "analysis/flow/rounding.h"
#include "analysis/loop/count.h"
#include "ir/bytes.h"
#include "remat/scan/maker.h"
#include "remat/scan/neighbours.h"
#include "remat/scan/slots.h"
#include "remat/scan/whole.h"

typedef struct Finder {
  const ScanContext *context;
  const Module *module;
  const Loop *loop;
  ScanValues *values;
  IdTable table;       /* by inst and inner */
  IdVec work;          /* values whose operands are not set yet */
  bool only_known;     /* no value is added */
  uint8_t *is_reached; /* by InstId: within the fusion that is being looked at */
  Arena *out, *scratch;
} Finder;

/* ---- copies under other names ---- */

static bool has_default_layout(const Shape *shape) {
  for (uint32_t i = 0; shape->minor_to_major && i < shape->rank; i++) {
    if (shape->minor_to_major[i] != (int64_t)shape->rank - 1 - i) return false;
  }
  return !shape->extras;
}

/* The operand whose bytes the instruction has in the same order; NO_ID if it computes them. */
static InstId same_bytes_operand(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->num_operands != 1) return NO_ID;
  InstId operand = inst_operand(module, id, 0);
  const Shape *to = inst_shape(module, id), *from = inst_shape(module, operand);
  if (!shape_is_array(to) || !shape_is_array(from) || to->type != from->type) return NO_ID;
  switch (inst->opcode) {
    case OPCODE_BITCAST: return operand;
    case OPCODE_COPY: return shape_same_layout(from, to) ? operand : NO_ID;
    case OPCODE_RESHAPE:
      return has_default_layout(from) && has_default_layout(to) ? operand : NO_ID;
    default: return NO_ID;
  }
}

/* ---- adding values ---- */

static uint32_t find_value(const Finder *finder, InstId inst, InstId inner) {
  uint64_t hash = hash_mix(hash_mix(HASH_SEED, inst), inner);
  uint32_t found;
  for (IdProbe probe = id_table_probe(&finder->table, hash); id_probe_next(&probe, &found);) {
    const ScanValue *value = &finder->values->list.data[found];
    if (value->inst == inst && value->inner == inner) return found;
  }
  return NO_ID;
}

static uint32_t add_value(Finder *finder, ScanValue value) {
  uint32_t found = find_value(finder, value.inst, value.inner);
  if (found != NO_ID || finder->only_known) return found;
  found = finder->values->list.len;
  value.stack = NO_ID;
  value.neighbour = NO_ID;
  value.holder = NO_ID;
  value.shape = inst_get(finder->module, value.inner == NO_ID ? value.inst : value.inner)->shape;
  *vec_push(finder->out, &finder->values->list) = value;
  *vec_push(finder->scratch, &finder->work) = found;
  id_table_add(&finder->table, finder->scratch,
               hash_mix(hash_mix(HASH_SEED, value.inst), value.inner), found);
  return found;
}

static uint32_t add_held(Finder *finder, ScanValue value, InstId holder) {
  uint32_t index = add_value(finder, value);
  if (index != NO_ID) finder->values->list.data[index].holder = holder;
  return index;
}

/* The instruction that has the value, in front of copies, and of tuples that are taken apart. */
static InstId source_of(const Module *module, InstId id) {
  for (;;) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_COPY && same_bytes_operand(module, id) != NO_ID) {
      id = inst_operand(module, id, 0);
      continue;
    }
    if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT) return id;
    InstId tuple = inst_operand(module, id, 0);
    if (inst_get(module, tuple)->opcode != OPCODE_TUPLE) return id;
    id = inst_operand(module, tuple, (uint32_t)inst->index);
  }
}

/* The value of an instruction of the body. */
static uint32_t value_of(Finder *finder, InstId id) {
  const Module *module = finder->module;
  const Loop *loop = finder->loop;
  id = source_of(module, id);
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId tuple = inst_operand(module, id, 0);
    uint32_t element = (uint32_t)inst->index;
    if (tuple == loop->body_param) {
      ScanValueKind kind = loop->counts[element]         ? SCAN_COUNT
                           : loop->is_invariant[element] ? SCAN_INVARIANT
                                                         : SCAN_STATE;
      return add_held(
          finder, (ScanValue){.kind = kind, .inst = id, .inner = NO_ID, .element = element}, id);
    }
    if (inst_get(module, tuple)->opcode == OPCODE_FUSION) {
      InstId root = comp_get(module, inst_callees(module, tuple)[0])->root;
      if (inst_get(module, root)->opcode == OPCODE_TUPLE)
        return add_held(
            finder, (ScanValue){.inst = tuple, .inner = inst_operand(module, root, element)}, id);
    }
  }
  if (inst->opcode == OPCODE_FUSION && !shape_is_tuple(inst_shape(module, id))) {
    InstId root = comp_get(module, inst_callees(module, id)[0])->root;
    return add_held(finder, (ScanValue){.inst = id, .inner = root}, id);
  }
  return add_held(finder, (ScanValue){.inst = id, .inner = NO_ID}, id);
}

/* The value that a stack's only write stores. */
static uint32_t value_of_write(Finder *finder, const StackWrite *write) {
  const Module *module = finder->module;
  bool is_fused = inst_get(module, write->inst)->opcode == OPCODE_FUSION;
  InstId id = write->update;
  for (InstId from; (from = same_bytes_operand(module, id)) != NO_ID;)
    id = from;
  if (!is_fused) return value_of(finder, id);
  const Instruction *inner = inst_get(module, id);
  if (inner->opcode != OPCODE_PARAMETER)
    return add_value(finder, (ScanValue){.inst = write->inst, .inner = id});
  id = inst_operand(module, write->inst, (uint32_t)inner->index);
  for (InstId from; (from = same_bytes_operand(module, id)) != NO_ID;)
    id = from;
  return value_of(finder, id);
}

/* ---- operands ---- */

/* Marks the parameters of a fusion that one of its values needs. */
static void mark_needed(Finder *finder, ScanValue value, bool *is_needed) {
  const Module *module = finder->module;
  IdVec work = {0}, reached = {0};
  *vec_push(finder->scratch, &work) = value.inner;
  while (work.len) {
    InstId id = work.data[--work.len];
    if (finder->is_reached[id]) continue;
    finder->is_reached[id] = 1;
    *vec_push(finder->scratch, &reached) = id;
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_PARAMETER) is_needed[inst->index] = true;
    for (uint32_t i = 0; i < inst->num_operands; i++)
      *vec_push(finder->scratch, &work) = inst_operand(module, id, i);
  }
  for (uint32_t i = 0; i < reached.len; i++)
    finder->is_reached[reached.data[i]] = 0;
}

/* Whether a fusion that stays as it is may slice a smaller array where `slice`, an instruction of
 * it, slices one along `dim`. */
static bool may_slice_slots(const Finder *finder, InstId fusion, InstId slice, uint32_t dim,
                            const bool *is_narrowed) {
  const Module *module = finder->module;
  Arena *arena = arena_new(arena_options(finder->scratch));
  bool is_rigid = rounding_of_fusion(module, fusion, arena).is_rigid;
  arena_free(arena);
  if (is_rigid || finder->context->has_one_slot) return !is_rigid;
  CompId comp = inst_get(module, slice)->parent;
  return slots_fit_all(module, comp, slots_place_of(module, slice, dim), is_narrowed);
}

/* Whether a clone of the whole fusion may write slices of smaller arrays. */
static bool may_stay_whole(const Finder *finder, const ScanValue *value) {
  const Module *module = finder->module;
  const Stacks *stacks = finder->context->stacks;
  WholeResults results = {0};
  if (!whole_results(stacks, finder->values->loop, value->inst, &results, finder->scratch) ||
      whole_result_of(module, &results, value->inner) == NO_ID)
    return false;
  bool *is_narrowed = whole_narrowed(module, value->inst, &results, finder->scratch);
  for (uint32_t i = 0; i < results.len; i++) {
    InstId write = results.data[i].write;
    if (write == NO_ID) continue;
    uint32_t dim = whole_write_dim(stacks, &results.data[i]);
    if (!may_slice_slots(finder, value->inst, write, dim, is_narrowed)) return false;
  }
  return true;
}

/* Decides what becomes of a fusion that is more than the value, if it rounds otherwise without the
 * rest. */
static void decide_whole(const Finder *finder, ScanValue *value) {
  const Module *module = finder->module;
  CompId comp = inst_callees(module, value->inst)[0];
  bool is_free = finder->context->legality->any_rounding;
  if (is_free || value->inner == comp_get(module, comp)->root) return;
  if (rounding_is_separable(module, value->inst, &value->inner, 1, finder->scratch)) return;
  value->stays_whole = may_stay_whole(finder, value);
  value->is_inseparable = !value->stays_whole;
}

/* Whether a read is a part of a fusion that rounds otherwise without it. */
static bool is_fixed_read(const Finder *finder, const StackRead *read) {
  return !finder->context->legality->any_rounding &&
         inst_get(finder->module, read->inst)->opcode == OPCODE_FUSION &&
         !rounding_is_settled(finder->module, read->inst, finder->scratch);
}

/* Whether the stack may not even become smaller in such a fusion. */
static bool is_rigid_read(const Finder *finder, const StackRead *read) {
  const Module *module = finder->module;
  if (!is_fixed_read(finder, read)) return false;
  const Stack *stack = &finder->context->stacks->list.data[read->stack];
  StackView cut = slots_cut_of(module, stack, read, finder->scratch);
  return !may_slice_slots(finder, read->inst, cut.inst, cut.dim, NULL);
}

static void find_fused_operands(Finder *finder, uint32_t index) {
  const Module *module = finder->module;
  decide_whole(finder, &finder->values->list.data[index]);
  ScanValue value = finder->values->list.data[index];
  uint32_t num_operands = inst_get(module, value.inst)->num_operands;
  bool *is_needed = arena_zarray(finder->scratch, bool, num_operands);
  if (value.stays_whole) {
    WholeResults results = {0};
    (void)whole_results(finder->context->stacks, finder->values->loop, value.inst, &results,
                        finder->scratch);
    memset(is_needed, true, num_operands);
    for (uint32_t i = 0; i < results.len; i++) {
      if (results.data[i].write != NO_ID) is_needed[results.data[i].operand] = false;
    }
  } else {
    mark_needed(finder, value, is_needed);
  }
  IdVec operands = {0};
  for (uint32_t i = 0; i < num_operands; i++) {
    uint32_t operand = is_needed[i] ? value_of(finder, inst_operand(module, value.inst, i)) : NO_ID;
    *vec_push(finder->out, &operands) = operand;
  }
  finder->values->list.data[index].operands = operands;
}

/* Operands that the instruction, or the control flow for which it is a tuple, may overwrite. In the
 * loop itself, copy-insertion has taken care of that. */
static void find_overwritten(Finder *finder, uint32_t index) {
  const Module *module = finder->module;
  const Loops *loops = finder->context->stacks->loops;
  ScanValue *value = &finder->values->list.data[index];
  const Instruction *inst = inst_get(module, value->inst);
  if (inst->num_operands == 0) return;
  bool *is_overwritten = arena_zarray(finder->out, bool, inst->num_operands), has_any = false;
  if (inst->opcode == OPCODE_TUPLE) {
    for (uint32_t i = 0; i < inst->num_operands; i++)
      is_overwritten[i] = loops_change_element(loops, value->inst, i);
  } else if (opcode_is_control_flow((Opcode)inst->opcode)) {
    for (uint32_t i = 0; i < inst->num_operands; i++)
      is_overwritten[i] = shape_is_array(inst_shape(module, inst_operand(module, value->inst, i)));
  } else {
    InPlacePairs pairs = {0};
    in_place_pairs(module, value->inst, &pairs, finder->scratch);
    for (uint32_t i = 0; i < pairs.list.len; i++)
      is_overwritten[pairs.list.data[i].operand] = true;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++)
    has_any |= is_overwritten[i];
  if (has_any) value->is_overwritten = is_overwritten;
}

static void find_operands(Finder *finder, uint32_t index) {
  if (finder->values->list.data[index].kind != SCAN_COMPUTED) return;
  find_overwritten(finder, index);
  const ScanValue *value = &finder->values->list.data[index];
  if (value->inner != NO_ID) {
    find_fused_operands(finder, index);
    return;
  }
  InstId inst = value->inst;
  IdVec operands = {0};
  for (uint32_t i = 0; i < inst_get(finder->module, inst)->num_operands; i++)
    *vec_push(finder->out, &operands) = value_of(finder, inst_operand(finder->module, inst, i));
  finder->values->list.data[index].operands = operands;
}

static void find_all_operands(Finder *finder) {
  while (finder->work.len)
    find_operands(finder, finder->work.data[--finder->work.len]);
}

/* ---- verdicts, bytes, time ---- */

/* As repeat_verdict(), but constants and copies can be computed again, too. The size of a single
 * slice does not matter, because what is freed is the stack. */
static KeepReason verdict_of(const Finder *finder, InstId id) {
  Legality legality = *finder->context->legality;
  legality.small_node_bytes = 0;
  KeepReason reason = repeat_verdict(&legality, id, finder->scratch);
  if (reason == KEEP_CONSTANT || reason == KEEP_COPY) return KEEP_NONE;
  const Module *module = finder->module;
  bool has_control =
      reason == KEEP_NONE && inst_has_control(module, id) && !control_restates_order(module);
  return has_control ? KEEP_CONTROL_DEPENDENCY : reason;
}

static int64_t stack_bytes(const Finder *finder, const ScanValue *value) {
  const Module *module = finder->module;
  const Target *target = module->backend.target;
  const Shape *shape = shape_get(&module->shapes, value->shape);
  if (!shape_is_array(shape) || shape->bytes < 0) return -1;
  if (value->stack != NO_ID) {
    ShapeId stack = finder->context->stacks->list.data[value->stack].shape;
    return target_device_bytes(target, shape_get(&module->shapes, stack));
  }
  int64_t bytes = target_device_bytes(target, shape);
  return mul_bytes(bytes, finder->loop->trips, &bytes) ? bytes : -1;
}

/* Control flow takes the time of what it runs. */
static double seconds_of(const Finder *finder, InstId id) {
  const ScanContext *context = finder->context;
  const Module *module = finder->module;
  double seconds = cost_seconds(module, context->costs, context->device, id);
  const Instruction *inst = inst_get(module, id);
  if (!opcode_is_control_flow((Opcode)inst->opcode))
    return seconds * context->runs[finder->loop->body];
  seconds *= context->runs[finder->loop->body];
  for (uint32_t c = 0; c < inst->num_callees; c++) {
    CompId comp = inst_callees(module, id)[c];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      seconds += context->runs[comp] *
                 cost_seconds(module, context->costs, context->device, comp_inst(module, comp, i));
    }
  }
  return seconds;
}

/* The time that a stack takes: that of the instruction that writes it, or of one that copies the
 * slice, and to give it an initial value. One that is written for others takes none. */
static double store_seconds_of(const Finder *finder, const ScanValue *value) {
  const ScanContext *context = finder->context;
  if (value->stack != NO_ID && context->stacks->list.data[value->stack].reads.len == 0) return 0;
  double runs = context->runs[finder->loop->body];
  double bandwidth = context->device->memory_bandwidth;
  double copied = 2 * (double)value->bytes / (double)finder->loop->trips / bandwidth;
  double init = (double)value->bytes / bandwidth * context->runs[finder->loop->parent];
  if (value->stack == NO_ID) return init + runs * (copied + context->device->kernel_seconds);
  const StackWrite *write = &context->stacks->list.data[value->stack].writes.data[0];
  const Shape *result = inst_shape(finder->module, write->inst);
  if (shape_is_tuple(result)) return init + runs * copied; /* it writes others, too */
  return init + runs * cost_seconds(finder->module, context->costs, context->device, write->inst);
}

/* Whether nothing in the body, needed by a stack or not, is against running it a second time. */
static bool may_run_again(const Finder *finder) {
  const Module *module = finder->module;
  for (uint32_t i = 0; i < comp_num_insts(module, finder->loop->body); i++) {
    InstId id = comp_inst(module, finder->loop->body, i);
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    bool is_view = opcode == OPCODE_PARAMETER || opcode_has(opcode, OPF_PASS_THROUGH);
    if (!is_view && verdict_of(finder, id) != KEEP_NONE) return false;
  }
  return true;
}

bool scan_may_stack(const Shape *shape) {
  if (!shape_is_array(shape) || shape->has_dynamic || shape_memory_space(shape) != 0) return false;
  const LayoutExtras *extras = shape->extras;
  bool is_row = shape->rank == 1 && extras && extras->num_tile_words && extras->tile_words[0] == 1;
  return !is_row || maker_stacks_rows(shape);
}

/* Whether what an element of the state begins with needs no memory in a reading loop. */
static bool is_made_anywhere(const Finder *finder, uint32_t element) {
  const Loops *loops = finder->context->stacks->loops;
  Origin origin = loop_origin(loops, loop_init(loops, finder->loop, element));
  Opcode opcode = (Opcode)inst_get(finder->module, origin.inst)->opcode;
  return origin.loop == NO_ID && (opcode == OPCODE_CONSTANT || opcode == OPCODE_BROADCAST ||
                                  inst_allocates(finder->module, origin.inst));
}

/* A slice is read, and what takes its place where there is none. */
static void judge_shift(const Finder *finder, ScanValue *value) {
  int64_t bytes = value->bytes / finder->loop->trips;
  double runs = finder->context->runs[finder->loop->body];
  bool is_free = value->shift < 0 && is_made_anywhere(finder, value->element);
  value->edge_bytes = is_free ? 0 : bytes;
  value->shift_seconds = 2 * (double)bytes * runs / finder->context->device->memory_bandwidth;
}

static void judge_value(const Finder *finder, ScanValue *value) {
  const Module *module = finder->module;
  value->bytes = stack_bytes(finder, value);
  const Shape *shape = shape_get(&module->shapes, value->shape);
  bool may_get_stack = value->holder != NO_ID && value->bytes > 0 && scan_may_stack(shape) &&
                       value->kind != SCAN_COUNT && count_counter_of(finder->loop) != NO_ID;
  value->may_store = value->stack != NO_ID || may_get_stack;
  if (value->may_store && !value->must_store)
    value->store_seconds = store_seconds_of(finder, value);
  if (value->neighbour != NO_ID) judge_shift(finder, value);
  if (value->kind != SCAN_COMPUTED) {
    value->verdict = value->kind == SCAN_STATE ? KEEP_STATE : KEEP_NONE;
    return;
  }
  value->verdict = value->is_inseparable ? KEEP_ROUNDING : verdict_of(finder, value->inst);
  bool is_free = opcode_has((Opcode)inst_get(module, value->inst)->opcode, OPF_FREE);
  value->seconds = is_free ? 0 : seconds_of(finder, value->inst);
}

/* A clone of a fusion that stays whole has all of its values. */
static void find_whole(ScanValues *values, uint32_t index) {
  ScanValue *value = &values->list.data[index];
  uint32_t first = 0;
  value->whole = NO_ID;
  if (!value->stays_whole) return;
  while (values->list.data[first].inst != value->inst || !values->list.data[first].stays_whole)
    first++;
  value->whole = first;
}

static bool is_part(const ScanValue *value) {
  return value->inner != NO_ID && !value->stays_whole;
}

static double slice_bytes(const Finder *finder, const ScanValue *value) {
  const Shape *shape = shape_get(&finder->module->shapes, value->shape);
  return shape_is_array(shape) && shape->bytes > 0 ? (double)shape->bytes : 0;
}

/* A value that is a part of a fusion. */
typedef struct Part {
  InstId fusion;
  uint32_t value;
} Part;

static int by_fusion(const void *pa, const void *pb) {
  const Part *a = pa, *b = pb;
  if (a->fusion != b->fusion) return a->fusion < b->fusion ? -1 : 1;
  return (a->value > b->value) - (a->value < b->value);
}

/* Where nothing is contracted, what is computed again of one fusion is joined (join_clones.h), so
 * that the parts take the time of the fusion together. Each has a share of it, by its bytes. */
static void share_times(const Finder *finder) {
  ScanValue *values = finder->values->list.data;
  VEC(Part) parts = {0};
  if (!finder->context->has_one_slot) return;
  for (uint32_t i = 0; i < finder->values->list.len; i++) {
    if (is_part(&values[i])) *vec_push(finder->scratch, &parts) = (Part){values[i].inst, i};
  }
  if (parts.len) qsort(parts.data, parts.len, sizeof *parts.data, by_fusion);
  for (uint32_t begin = 0, end; begin < parts.len; begin = end) {
    double bytes = 0, seconds = values[parts.data[begin].value].seconds;
    for (end = begin; end < parts.len && parts.data[end].fusion == parts.data[begin].fusion; end++)
      bytes += slice_bytes(finder, &values[parts.data[end].value]);
    for (uint32_t i = begin; bytes > 0 && i < end; i++) {
      ScanValue *value = &values[parts.data[i].value];
      value->seconds = seconds * slice_bytes(finder, value) / bytes;
    }
  }
}

/* ---- the graph ---- */

/* Whether the reading loops have a counter from which the iteration follows. */
static bool is_readable(const Finder *finder, const Stack *stack) {
  const Loops *loops = finder->context->stacks->loops;
  if (stack->reads.len == 0 || stack->writes.len != 1) return false;
  const SideEffects *effects = &finder->context->legality->effects;
  if (inst_is_compiled_alone(finder->module, effects, finder->loop->id)) return false;
  for (uint32_t i = 0; i < stack->reads.len; i++) {
    const StackRead *read = &finder->context->stacks->reads.data[stack->reads.data[i]];
    const Loop *loop = &loops->list[read->loop];
    int64_t first, step;
    if (loop->parent != finder->loop->parent) return false;
    if (inst_get(finder->module, loop->init)->users.len != 1) return false;
    if (is_rigid_read(finder, read)) return false;
    if (!count_is_linear(read->iterations, loop->trips, &first, &step)) return false;
    if (count_counter_of(loop) == NO_ID) return false;
  }
  return true;
}

/* ---- neighbours ---- */

/* The stack that no loop reads yet, and that has the slices of a value; NO_ID if there is none. */
static uint32_t find_unread_stack(Finder *finder, uint32_t index) {
  const Stacks *stacks = finder->context->stacks;
  uint32_t first = stacks->first_of[finder->values->loop];
  uint32_t end = stacks->first_of[finder->values->loop + 1], found = NO_ID;
  finder->only_known = true;
  for (uint32_t i = first; i < end && found == NO_ID; i++) {
    const Stack *stack = &stacks->list.data[i];
    bool may_read = finder->values->of_stack[i - first] == NO_ID &&
                    neighbours_may_read(stacks, stack, finder->scratch);
    if (may_read && value_of_write(finder, &stack->writes.data[0]) == index) found = i;
  }
  finder->only_known = false;
  return found;
}

/* Adds what iterations hand on, if stacks hold that which no loop reads yet, and finds these. */
static void find_handed_on(Finder *finder) {
  const Stacks *stacks = finder->context->stacks;
  ScanValues *values = finder->values;
  uint32_t first = stacks->first_of[values->loop], end = stacks->first_of[values->loop + 1];
  bool has_unread = false;
  for (uint32_t i = first; i < end; i++)
    has_unread |= neighbours_may_read(stacks, &stacks->list.data[i], finder->scratch);
  for (uint32_t i = 0; has_unread && i < values->list.len; i++) {
    if (values->list.data[i].kind != SCAN_STATE) continue;
    uint32_t element = values->list.data[i].element;
    uint32_t next = value_of(finder, loop_next(stacks->loops, finder->loop, element));
    find_all_operands(finder);
    if (values->list.data[next].stack == NO_ID)
      values->list.data[next].stack = find_unread_stack(finder, next);
  }
}

/* Links what an iteration begins with and what the iteration before handed on. */
static void find_neighbours(Finder *finder) {
  const Loops *loops = finder->context->stacks->loops;
  ScanValues *values = finder->values;
  finder->only_known = true;
  for (uint32_t i = 0; i < values->list.len; i++) {
    const ScanValue *value = &values->list.data[i];
    const Shape *shape = shape_get(&finder->module->shapes, value->shape);
    if (value->kind != SCAN_STATE || maker_stacks_rows(shape)) continue;
    uint32_t element = value->element;
    uint32_t next = value_of(finder, loop_next(loops, finder->loop, element));
    if (next == NO_ID || !neighbours_feed_back(loops, finder->loop, element, finder->scratch))
      continue;
    neighbours_link(values, i, next, finder->scratch);
  }
  finder->only_known = false;
}

ScanValues scan_values_find(const ScanContext *context, uint32_t loop_index, Arena *out,
                            Arena *scratch) {
  const Stacks *stacks = context->stacks;
  ScanValues values = {.stacks = stacks, .loop = loop_index};
  uint32_t first = stacks->first_of[loop_index], end = stacks->first_of[loop_index + 1];
  values.of_stack = arena_array(out, uint32_t, end - first);
  values.is_fixed = arena_zarray(out, bool, end - first);
  Arena *arena = arena_new(arena_options(scratch));
  Finder finder = {.context = context,
                   .module = context->module,
                   .loop = &stacks->loops->list[loop_index],
                   .values = &values,
                   .is_reached = context->is_reached,
                   .out = out,
                   .scratch = arena};
  for (uint32_t i = first; i < end; i++) {
    const Stack *stack = &stacks->list.data[i];
    values.of_stack[i - first] = NO_ID;
    if (!is_readable(&finder, stack)) continue;
    uint32_t index = value_of_write(&finder, &stack->writes.data[0]);
    ScanValue *value = &values.list.data[index];
    if (value->stack == NO_ID) value->stack = i;
    value->is_read = true;
    value->must_store |= stack->is_read_whole;
    values.of_stack[i - first] = index;
    for (uint32_t k = 0; k < stack->reads.len; k++)
      values.is_fixed[i - first] |=
          is_fixed_read(&finder, &stacks->reads.data[stack->reads.data[k]]);
  }
  find_all_operands(&finder);
  find_handed_on(&finder);
  for (uint32_t i = first; i < end; i++) {
    if (values.of_stack[i - first] == NO_ID) continue;
    const ScanValue *value = &values.list.data[values.of_stack[i - first]];
    bool is_whole = value->stays_whole || value->is_inseparable;
    values.is_fixed[i - first] |=
        is_whole && value->inst == stacks->list.data[i].writes.data[0].inst;
  }
  find_neighbours(&finder);
  for (uint32_t i = 0; i < values.list.len; i++) {
    judge_value(&finder, &values.list.data[i]);
    find_whole(&values, i);
  }
  share_times(&finder);
  values.may_run_again = values.list.len > 0 && may_run_again(&finder);
  arena_free(arena);
  return values;
}
