#include "analysis/memory/space_use.h"

#include <stdlib.h>

bool module_has_spaces(const Module *module) {
  for (ShapeId id = 0; id < module->shapes.shapes.len; id++) {
    const Shape *shape = shape_get(&module->shapes, id);
    if (shape_is_tuple(shape)) continue;
    if (target_memory_space(module->backend.target, shape) != DEVICE_MEMORY_SPACE) return true;
  }
  return false;
}

/* The place of a memory space in the list; the place where it belongs if it is not there. */
static uint32_t place_of(const SpaceUses *uses, int64_t space) {
  uint32_t place = 0;
  while (place < uses->list.len && uses->list.data[place].space < space)
    place++;
  return place;
}

static void add_space(SpaceUses *uses, int64_t space, LogicalTime num_times, Arena *out) {
  uint32_t place = place_of(uses, space);
  if (place < uses->list.len && uses->list.data[place].space == space) return;
  vec_push(out, &uses->list);
  for (uint32_t i = uses->list.len - 1; i > place; i--)
    uses->list.data[i] = uses->list.data[i - 1];
  uses->list.data[place] =
      (SpaceUse){.space = space,
                 .peak_time = NO_TIME,
                 .live_bytes = arena_zarray(out, int64_t, (size_t)num_times + 1)};
}

static bool is_held(const Allocation *allocation) {
  return allocation->is_live_out || allocation->kind == ALLOCATION_PARAMETER ||
         allocation->kind == ALLOCATION_CONSTANT;
}

static int by_start(const void *pa, const void *pb) {
  const LiveRange *a = pa, *b = pb;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return (a->end > b->end) - (a->end < b->end);
}

/* Adds the change of the live bytes at the times at which the memory of a buffer in a heap begins
 * and ends to be held. Where the live ranges of its values overlap, it is held once; where another
 * buffer takes it over, it ends. */
static void add_buffer(SpaceUse *use, const HeapAnalysis *heap, BufferId buffer, Arena *scratch) {
  const HloBuffers *buffers = &heap->values.buffers;
  ArenaMark mark = arena_mark(scratch);
  uint32_t first = buffers->first_value[buffer], end = buffers->first_value[buffer + 1], len = 0;
  LiveRange *ranges = arena_array(scratch, LiveRange, end - first);
  int64_t bytes = 0;
  for (uint32_t i = first; i < end; i++) {
    ValueId value = buffers->values[i];
    const HloValue *held = &heap->values.flow.values.data[value];
    LiveRange range = heap->ranges.of[value];
    LogicalTime taken = heap->assignment.taken_at[value];
    if (held->bytes > bytes) bytes = held->bytes;
    if (range.start == NO_TIME) continue;
    range.end = taken != NO_TIME ? taken : range.end + 1; /* exclusive from here on */
    if (range.end > heap->ranges.num_times) range.end = heap->ranges.num_times;
    if (range.start < range.end) ranges[len++] = range;
  }
  if (len) qsort(ranges, len, sizeof *ranges, by_start);
  LogicalTime last = 0;
  for (uint32_t i = 0; i < len; i++) {
    LogicalTime start = ranges[i].start > last ? ranges[i].start : last;
    if (start >= ranges[i].end) continue;
    use->live_bytes[start] += bytes;
    use->live_bytes[ranges[i].end] -= bytes;
    last = ranges[i].end;
  }
  use->num_values += end - first;
  arena_reset(scratch, mark);
}

/* ---- ConcatBitcast ---- */

/* The time after a value's last. */
static LogicalTime end_of(const HeapAnalysis *heap, ValueId value) {
  LogicalTime end = heap->ranges.of[value].end;
  return end < heap->ranges.num_times ? end + 1 : heap->ranges.num_times;
}

/* XLA:TPU puts the operands of a custom call `ConcatBitcast` side by side, and its result is their
 * memory: what both are live for is counted once. */
static void join_operands(SpaceUses *uses, const Module *module, const HeapAnalysis *heap,
                          InstId id) {
  const HloBuffers *buffers = &heap->values.buffers;
  ValueId result = dataflow_value(&heap->values.flow, id, 0);
  const Allocation *allocation =
      &heap->assignment.allocations.data[heap->assignment.of[buffers->of[result]]];
  uint32_t place = place_of(uses, allocation->color);
  if (place == uses->list.len || uses->list.data[place].space != allocation->color) return;
  if (is_held(allocation)) return;
  SpaceUse *use = &uses->list.data[place];
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    ValueId operand = dataflow_value(&heap->values.flow, inst_operand(module, id, i), 0);
    LogicalTime start = heap->ranges.of[result].start, end = end_of(heap, result);
    if (buffers->of[operand] == buffers->of[result]) continue;
    if (heap->ranges.of[operand].start == NO_TIME || start == NO_TIME) continue;
    if (end_of(heap, operand) < end) end = end_of(heap, operand);
    if (start >= end) continue;
    use->live_bytes[start] -= heap->values.flow.values.data[operand].bytes;
    use->live_bytes[end] += heap->values.flow.values.data[operand].bytes;
  }
}

static void join_concats(SpaceUses *uses, const Module *module, const HeapAnalysis *heap) {
  for (LogicalTime time = 0; time < heap->ranges.num_times; time++) {
    InstId id = heap->ranges.flat[time];
    if (inst_get(module, id)->opcode != OPCODE_CUSTOM_CALL) continue;
    if (!str_is(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "ConcatBitcast")) continue;
    join_operands(uses, module, heap, id);
  }
}

/* ---- all spaces ---- */

static bool is_counted(const Module *module, const Allocation *allocation) {
  return allocation->kind != ALLOCATION_THREAD_LOCAL &&
         !target_is_device_space(module->backend.target, allocation->color);
}

static void find_peak(SpaceUse *use, LogicalTime num_times) {
  int64_t live = 0;
  for (LogicalTime time = 0; time < num_times; time++) {
    live += use->live_bytes[time];
    use->live_bytes[time] = live;
    if (live <= use->peak_bytes) continue;
    use->peak_bytes = live;
    use->peak_time = time;
  }
}

static void add_allocations(SpaceUses *uses, const Module *module, const HeapAnalysis *heap,
                            Arena *out) {
  for (uint32_t i = 0; i < heap->assignment.allocations.len; i++) {
    const Allocation *allocation = &heap->assignment.allocations.data[i];
    if (!is_counted(module, allocation)) continue;
    add_space(uses, allocation->color, heap->ranges.num_times, out);
    SpaceUse *use = &uses->list.data[place_of(uses, allocation->color)];
    use->bytes += allocation->bytes;
    if (is_held(allocation)) use->live_bytes[0] += allocation->bytes;
  }
}

SpaceUses space_uses(const Module *module, const HeapAnalysis *heap, Arena *out, Arena *scratch) {
  SpaceUses uses = {0};
  const BufferAssignment *assignment = &heap->assignment;
  LogicalTime num_times = heap->ranges.num_times;
  add_allocations(&uses, module, heap, out);
  for (BufferId buffer = 0; uses.list.len && buffer < heap->values.buffers.num_buffers; buffer++) {
    const Allocation *allocation = &assignment->allocations.data[assignment->of[buffer]];
    if (!is_counted(module, allocation)) continue;
    SpaceUse *use = &uses.list.data[place_of(&uses, allocation->color)];
    const HloBuffers *buffers = &heap->values.buffers;
    if (is_held(allocation)) {
      use->num_values += buffers->first_value[buffer + 1] - buffers->first_value[buffer];
    } else {
      add_buffer(use, heap, buffer, scratch);
    }
  }
  if (uses.list.len) join_concats(&uses, module, heap);
  uint32_t num_used = 0;
  for (uint32_t i = 0; i < uses.list.len; i++) {
    SpaceUse use = uses.list.data[i];
    if (use.bytes == 0) continue;
    find_peak(&use, num_times);
    uses.list.data[num_used++] = use;
  }
  uses.list.len = num_used;
  return uses;
}
