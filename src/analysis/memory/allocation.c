/* The values of an allocation live one after the other, so the values that may live at the same
 * time as a given one are its neighbours in the order of live ranges. The order is kept as a treap:
 * a search tree by live range, and a heap by a hash of the ids. */
#include "analysis/memory/allocation.h"

#include "ir/hash.h"

/* A result is a temporary if a copy will move it into the memory of the parameter that it
 * aliases. */
static void mark_live_out(Allocations *allocations) {
  const Module *module = allocations->module;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  uint32_t num_parts = inst_shape(module, entry->root)->num_parts;
  bool *is_copied = arena_zarray(allocations->scratch, bool, num_parts);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID || alias->output_part >= num_parts) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    ValueId taken = dataflow_value(allocations->flow, param, alias->param_part);
    ValueId result = dataflow_value(allocations->flow, entry->root, alias->output_part);
    is_copied[alias->output_part] =
        allocations->buffers->of[taken] != allocations->buffers->of[result];
  }
  for (uint32_t part = 0; part < num_parts; part++) {
    ValueId result = dataflow_value(allocations->flow, entry->root, part);
    allocations->is_live_out[allocations->buffers->of[result]] |= !is_copied[part];
  }
}

Allocations allocations_init(const Module *module, const Dataflow *flow, const HloBuffers *buffers,
                             const LiveRanges *ranges, Arena *out, Arena *scratch) {
  uint32_t num_values = flow->values.len;
  Allocations allocations = {.module = module,
                             .flow = flow,
                             .buffers = buffers,
                             .ranges = ranges,
                             .out = out,
                             .scratch = scratch,
                             .of = arena_array(out, uint32_t, buffers->num_buffers),
                             .buffer_bytes = arena_zarray(out, int64_t, buffers->num_buffers),
                             .is_live_out = arena_zarray(out, bool, buffers->num_buffers),
                             .left = arena_array(scratch, ValueId, num_values),
                             .right = arena_array(scratch, ValueId, num_values)};
  memset(allocations.of, 0xff, buffers->num_buffers * sizeof *allocations.of);
  for (ValueId value = 0; value < num_values; value++) {
    int64_t *bytes = &allocations.buffer_bytes[buffers->of[value]];
    if (flow->values.data[value].bytes > *bytes) *bytes = flow->values.data[value].bytes;
  }
  mark_live_out(&allocations);
  return allocations;
}

int64_t allocations_color(const Allocations *allocations, BufferId buffer) {
  ValueId value = allocations->buffers->values[allocations->buffers->first_value[buffer]];
  ShapeId shape = allocations->flow->values.data[value].shape;
  return shape_memory_space(shape_get(&allocations->module->shapes, shape));
}

/* ---- the values of an allocation ---- */

static bool comes_before(const Allocations *allocations, ValueId a, ValueId b) {
  LiveRange x = allocations->ranges->of[a], y = allocations->ranges->of[b];
  if (x.start != y.start) return x.start < y.start;
  if (x.end != y.end) return x.end < y.end;
  return a < b;
}

static uint64_t priority(ValueId value) {
  return hash_mix(HASH_SEED, value);
}

static void insert(Allocations *allocations, ValueId *root, ValueId value) {
  ValueId *link = root;
  while (*link != NO_ID && priority(*link) >= priority(value)) {
    link = comes_before(allocations, value, *link) ? &allocations->left[*link]
                                                   : &allocations->right[*link];
  }
  /* The subtree below is split into the new value's children. */
  ValueId rest = *link, *less = &allocations->left[value], *more = &allocations->right[value];
  *link = value;
  while (rest != NO_ID) {
    if (comes_before(allocations, value, rest)) {
      *more = rest;
      more = &allocations->left[rest];
      rest = *more;
    } else {
      *less = rest;
      less = &allocations->right[rest];
      rest = *less;
    }
  }
  *less = *more = NO_ID;
}

/* The last value that starts at `time` or earlier and comes before `limit`, where NO_ID comes after
 * all values. */
static ValueId last_until(const Allocations *allocations, ValueId root, LogicalTime time,
                          ValueId limit) {
  ValueId found = NO_ID;
  while (root != NO_ID) {
    bool is_before = allocations->ranges->of[root].start <= time &&
                     (limit == NO_ID || comes_before(allocations, root, limit));
    if (is_before) found = root;
    root = is_before ? allocations->right[root] : allocations->left[root];
  }
  return found;
}

static LiveRange longer(LiveRange a, LiveRange b) {
  if (a.start == NO_TIME) return b;
  return b.start != NO_TIME && b.end - b.start > a.end - a.start ? b : a;
}

LiveRange allocations_longest(const Allocations *allocations, BufferId buffer) {
  const HloBuffers *buffers = allocations->buffers;
  LiveRange longest = {.start = NO_TIME};
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++)
    longest = longer(longest, allocations->ranges->of[buffers->values[i]]);
  return longest;
}

static void add_values(Allocations *allocations, uint32_t index, BufferId buffer) {
  const HloBuffers *buffers = allocations->buffers;
  Allocation *allocation = &allocations->list.data[index];
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    LiveRange range = allocations->ranges->of[buffers->values[i]];
    if (range.start == NO_TIME) continue;
    insert(allocations, &allocation->values, buffers->values[i]);
    free_time_take(&allocation->free_time, (PackSpan){range.start, range.end});
  }
  allocation->is_live_out |= allocations->is_live_out[buffer];
  allocations->of[buffer] = index;
}

uint32_t allocations_new(Allocations *allocations, AllocationKind kind, BufferId buffer) {
  uint32_t index = allocations->list.len;
  *vec_push(allocations->out, &allocations->list) = (Allocation){.id = index,
                                                                 .kind = (uint8_t)kind,
                                                                 .values = NO_ID,
                                                                 .inst = NO_ID,
                                                                 .reusable = NO_ID,
                                                                 .free_time = free_time_all()};
  if (buffer == NO_ID) return index;
  allocations->list.data[index].bytes = allocations->buffer_bytes[buffer];
  allocations->list.data[index].color = allocations_color(allocations, buffer);
  add_values(allocations, index, buffer);
  return index;
}

/* ---- may two values have the same memory? ---- */

/* Whether the definer of `user` may overwrite `operand`, which dies there, while it reads it. */
static bool can_take_over(const Allocations *allocations, ValueId user, ValueId operand) {
  const Module *module = allocations->module;
  const Dataflow *flow = allocations->flow;
  const HloValue *defined = &flow->values.data[user];
  if (inst_get(module, defined->inst)->opcode == OPCODE_COPY) return false;
  for (uint32_t i = flow->first_position[operand]; i < flow->first_position[operand + 1]; i++) {
    HloPosition position = flow->positions[i];
    if (inst_count_operand(module, defined->inst, position.inst) > 0 &&
        can_share_operand_buffer(module, flow, position.inst, position.part, defined->inst,
                                 defined->part, allocations->scratch)) {
      return true;
    }
  }
  return false;
}

/* The live ranges of `value` and `other` overlap. Where one ends at the time at which the other
 * begins, the second may take over the memory of the first. */
static bool interferes(const Allocations *allocations, ValueId value, ValueId other) {
  LiveRange a = allocations->ranges->of[value], b = allocations->ranges->of[other];
  if (a.end == b.start) return !can_take_over(allocations, other, value);
  if (b.end == a.start) return !can_take_over(allocations, value, other);
  return true;
}

static bool is_free_for(const Allocations *allocations, const Allocation *allocation,
                        ValueId value) {
  LiveRange range = allocations->ranges->of[value];
  if (range.start == NO_TIME) return true;
  ValueId other = last_until(allocations, allocation->values, range.end, NO_ID);
  while (other != NO_ID && allocations->ranges->of[other].end >= range.start) {
    if (interferes(allocations, value, other)) return false;
    other = last_until(allocations, allocation->values, range.end, other);
  }
  return true;
}

/* A copy must never have the memory of its operand, not even after the operand is dead. */
static bool is_copied_from(const Allocations *allocations, uint32_t allocation, ValueId value) {
  const Module *module = allocations->module;
  InstId id = allocations->flow->values.data[value].inst;
  if (inst_get(module, id)->opcode != OPCODE_COPY) return false;
  InstId operand = inst_operand(module, id, 0);
  for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
    ValueId held = dataflow_value(allocations->flow, operand, part);
    if (allocations->of[allocations->buffers->of[held]] == allocation) return true;
  }
  return false;
}

bool allocations_try(Allocations *allocations, uint32_t index, BufferId buffer) {
  const Allocation *allocation = &allocations->list.data[index];
  const HloBuffers *buffers = allocations->buffers;
  bool is_writable = allocation->kind == ALLOCATION_PLAIN ||
                     (allocation->kind == ALLOCATION_PARAMETER && allocation->is_donated);
  int64_t bytes = allocations->buffer_bytes[buffer];
  if (!is_writable || bytes > allocation->bytes) return false;
  if (allocations->is_live_out[buffer] && bytes != allocation->bytes) return false;
  if (allocations_color(allocations, buffer) != allocation->color) return false;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    ValueId value = buffers->values[i];
    if (!is_free_for(allocations, allocation, value) || is_copied_from(allocations, index, value)) {
      return false;
    }
  }
  add_values(allocations, index, buffer);
  return true;
}
