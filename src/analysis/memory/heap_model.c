/* The memory model `heap`: the memory of XLA's buffer assignment on the module's target.
 * Parameters, results and constants are held all the time. Temporaries are one block, or several if
 * there is a limit; its size is the height of the packing, of which only a part is live at a given
 * time. */
#include "analysis/memory/heap_model.h"

#include "analysis/memory/joined_pairs.h"
#include "analysis/memory/pending_copies.h"

/* Whether all users of a tuple are barriers, or take it apart behind one. */
static bool is_for_barriers(const Module *module, InstId tuple, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  VEC(InstId) stack = {0};
  *vec_push(scratch, &stack) = tuple;
  bool ok = true;
  while (ok && stack.len) {
    InstId current = stack.data[--stack.len];
    IdList users = inst_get(module, current)->users;
    ok = users.len > 0 && !inst_is_root(module, current);
    for (uint32_t i = 0; ok && i < users.len; i++) {
      InstId user = id_list(module, users)[i];
      Opcode opcode = (Opcode)inst_get(module, user)->opcode;
      if (opcode == OPCODE_OPT_BARRIER)
        *vec_push(scratch, &stack) = user;
      else
        ok = current != tuple && opcode == OPCODE_GET_TUPLE_ELEMENT;
    }
  }
  arena_reset(scratch, mark);
  return ok;
}

/* XLA:CPU runs OptimizationBarrierExpander and TupleSimplifier after scheduling (cpu_compiler.cc):
 * no table is left of a tuple that was only made for a barrier. */
static bool is_removed_table(const Module *module, const HloValue *value, Arena *scratch) {
  return module->backend.target->removes_barriers && value->part == 0 &&
         inst_get(module, value->inst)->opcode == OPCODE_TUPLE &&
         is_for_barriers(module, value->inst, scratch);
}

/* Bytes in whichever memory the value is; without padding where padding would overflow. */
static int64_t bytes_where_it_is(const Module *module, ShapeId id) {
  const Shape *shape = shape_get(&module->shapes, id);
  int64_t bytes = target_bytes(module->backend.target, shape);
  return bytes < 0 ? shape->bytes : bytes;
}

static void size_values(const Module *before, const Module *module, Dataflow *flow,
                        Arena *scratch) {
  for (ValueId id = 0; id < flow->values.len; id++) {
    HloValue *value = &flow->values.data[id];
    bool is_removed = is_removed_table(module, value, scratch) ||
                      inst_is_joined_start(before, module, value->inst);
    value->bytes = is_removed ? 0 : bytes_where_it_is(module, value->shape);
  }
}

HeapAnalysis heap_analysis_run(const Module *given, const Schedule *schedule, HeapDetail detail,
                               Arena *out, Arena *scratch) {
  const Module *joined = joined_pairs_module(given, schedule, out, scratch);
  const Module *module = joined ? joined : given;
  HeapAnalysis heap = {.module = module, .values = value_analysis_build(module, out, scratch)};
  size_values(given, module, &heap.values.flow, scratch);
  heap.values.buffers = buffers_after_copies(module, &heap.values, schedule, out, scratch);
  heap.ranges = live_ranges_build(module, &heap.values.graph, &heap.values.flow,
                                  &heap.values.buffers, schedule, out, scratch);
  heap.assignment = buffer_assignment_run(module, &heap.values, &heap.ranges,
                                          module->backend.target->alignment, detail, out, scratch);
  return heap;
}

static LogicalTime peak_time(const HeapAnalysis *heap) {
  const int64_t *bytes_at = heap->assignment.heap_bytes_at;
  LogicalTime peak = 0;
  for (LogicalTime time = 1; time < heap->ranges.num_times; time++) {
    if (bytes_at[time] > bytes_at[peak]) peak = time;
  }
  return peak;
}

static void list_heaps(const Module *module, const BufferAssignment *assignment,
                       MemoryProfile *profile, Arena *out) {
  int64_t *bytes = arena_array(out, int64_t, assignment->num_temps);
  uint32_t first = assignment->allocations.len - assignment->num_temps;
  profile->heap_bytes = bytes;
  for (uint32_t i = first; i < assignment->allocations.len; i++) {
    const Allocation *allocation = &assignment->allocations.data[i];
    if (!target_is_device_space(module->backend.target, allocation->color)) continue;
    bytes[profile->num_heaps++] = allocation->bytes;
  }
}

/* Whether it computes, rather than having other names for its operands or handing them on. */
static bool reads_arrays(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  bool runs_others = opcode_is_control_flow(opcode) && !opcode_is_async(opcode);
  return !runs_others && !opcode_only_passes_on(opcode);
}

/* What XLA:TPU brings to VMEM ahead of its use has a table of pointers, or eight where it is
 * brought in four slices, and each table has a slot of its own from the beginning to the end. In
 * all, there are about as many as arrays are read that VMEM can hold. */
static int64_t bytes_of_tables(const Module *module, const LiveRanges *ranges) {
  const Backend *backend = &module->backend;
  int64_t num_reads = 0;
  for (LogicalTime time = 0; time < ranges->num_times; time++) {
    InstId id = ranges->flat[time];
    if (!reads_arrays(module, id)) continue;
    for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
      const Shape *shape = inst_shape(module, inst_operand(module, id, i));
      if (!shape_is_array(shape) || shape->rank == 0) continue;
      int64_t bytes = target_device_bytes(backend->target, shape);
      if (bytes > 0 && bytes <= backend->tpu.vmem_bytes) num_reads++;
    }
  }
  return num_reads * backend->target->alignment;
}

/* Where other values are packed, gaps are others, too, and can be larger. Of the packing without
 * VMEM, and the one beside VMEM that takes what lives the shortest, the higher one with half of its
 * gaps on top is what XLA is allowed; or, if not all fits into VMEM, the one beside it with the
 * tables of what is brought to it on top, where that is more: what lives long is read from VMEM
 * piece by piece, and takes no fewer bytes for that. Of 274 modules for four TPUs the one that went
 * furthest into the gaps took 44 % of them; others exceeded the end by up to 0.5 %, or stayed below
 * it. Of 181 of v5e and v6e that were compiled later, one exceeded it by 2.1 %, and four by 0.6 %
 * to 1.0 %. */
static void set_range(const Module *module, const HeapAnalysis *heap, MemoryProfile *profile) {
  const BufferAssignment *assignment = &heap->assignment;
  int64_t vmem_bytes = module->backend.tpu.vmem_bytes;
  int64_t beside_bytes = assignment->heap_bytes_beside - assignment->heap_bytes;
  int64_t more_bytes = beside_bytes > 0 ? beside_bytes : 0;
  more_bytes += (profile->fragmentation_bytes + more_bytes) / 2;
  if (assignment->heap_bytes_beside > 0) beside_bytes += bytes_of_tables(module, &heap->ranges);
  if (more_bytes < beside_bytes) more_bytes = beside_bytes;
  if (more_bytes > vmem_bytes) more_bytes = vmem_bytes;
  int64_t less_bytes = vmem_bytes - more_bytes, temp_bytes = memory_profile_temp_bytes(profile);
  profile->temp_more_bytes = more_bytes;
  profile->temp_less_bytes = less_bytes < temp_bytes ? less_bytes : temp_bytes;
}

MemoryProfile heap_profile(const Module *module, const HeapAnalysis *heap, Arena *out,
                           Arena *scratch) {
  const BufferAssignment *assignment = &heap->assignment;
  const LiveRanges *ranges = &heap->ranges;
  MemoryProfile profile;
  memory_profile_init(&profile, module, &target_sizes, out, scratch);
  profile.is_flat = true;
  profile.counts_params = true;
  profile.joins_values = profile.counts_copies = true;
  profile.constants = CONSTANTS_HELD;
  profile.constant_bytes = assignment->constant_bytes; /* includes those of reducers */
  /* Parameters, results, constants and tables of pointers are held all the time. */
  int64_t held_bytes = profile.parameter_bytes + profile.output_bytes - profile.aliased_bytes +
                       profile.constant_bytes + assignment->temp_bytes - assignment->heap_bytes;
  LogicalTime peak = peak_time(heap);
  profile.peak_bytes = held_bytes + assignment->heap_bytes;
  profile.fragmentation_bytes = assignment->heap_bytes - assignment->heap_bytes_at[peak];
  if (awaits_vmem(module)) set_range(module, heap, &profile);
  list_heaps(module, assignment, &profile, out);
  if (peak < ranges->num_times && profile.peak_bytes > 0) profile.peak_inst = ranges->flat[peak];
  for (LogicalTime time = 0; time < ranges->num_times; time++)
    profile.bytes_at[ranges->flat[time]] = held_bytes + assignment->heap_bytes_at[time];
  return profile;
}

/* ---- what lives at the peak ---- */

typedef struct HeapModel {
  const Module *module;
  HeapAnalysis heap;
  LogicalTime peak_time;
  bool *is_result; /* by BufferId: is a result of the entry */
  ValueId
      *of_allocation;   /* by allocation that is held: the value that represents it; NO_ID = none */
  int64_t *given_bytes; /* by allocation: bytes of the parameter in it, else of a result */
  ValueId *of_buffer; /* by BufferId of a temporary: the value that represents it at the peak; NO_ID
                         = none */
} HeapModel;

static bool is_live(const HeapModel *model, ValueId value) {
  LiveRange range = model->heap.ranges.of[value];
  LogicalTime taken = model->heap.assignment.taken_at[value];
  return range.start != NO_TIME && range.start <= model->peak_time &&
         range.end >= model->peak_time && (taken == NO_TIME || taken > model->peak_time);
}

/* Ranks the values that have the same memory one after the other: the value of the highest rank
 * represents the memory. That is the value live at the peak, the later one where two meet there;
 * otherwise the result. */
static uint64_t rank(const HeapModel *model, ValueId value) {
  if (is_live(model, value)) return (UINT64_C(2) << 32) + model->heap.ranges.of[value].start;
  return model->is_result[model->heap.values.buffers.of[value]];
}

static void choose(const HeapModel *model, ValueId *chosen, ValueId value) {
  if (*chosen == NO_ID || rank(model, value) > rank(model, *chosen)) *chosen = value;
}

/* The allocation is held all the time, whatever lives in it. */
static bool is_held(const Allocation *allocation) {
  return allocation->kind == ALLOCATION_PARAMETER || allocation->kind == ALLOCATION_CONSTANT ||
         allocation->is_live_out;
}

static void choose_values(HeapModel *model) {
  const Module *module = model->module;
  const Dataflow *flow = &model->heap.values.flow;
  for (ValueId id = 0; id < flow->values.len; id++) {
    const HloValue *value = &flow->values.data[id];
    const Instruction *inst = inst_get(module, value->inst);
    BufferId buffer = model->heap.values.buffers.of[id];
    uint32_t index = model->heap.assignment.of[buffer];
    const Allocation *allocation = &model->heap.assignment.allocations.data[index];
    if (!target_is_device_space(module->backend.target, allocation->color)) continue;
    if (inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry) {
      model->given_bytes[index] = value->bytes;
    }
    if (is_held(allocation)) {
      choose(model, &model->of_allocation[index], id);
    } else if (allocation->kind != ALLOCATION_THREAD_LOCAL) {
      bool is_table = shape_is_tuple(shape_get(&module->shapes, value->shape));
      if (is_table || is_live(model, id)) choose(model, &model->of_buffer[buffer], id);
    }
  }
}

static HeapModel heap_model_build(const Module *module, const HeapAnalysis *heap, Arena *out) {
  HeapModel model = {.module = module, .heap = *heap};
  const HloBuffers *buffers = &model.heap.values.buffers;
  uint32_t num_allocations = model.heap.assignment.allocations.len;
  model.peak_time = peak_time(&model.heap);
  model.of_allocation = arena_array(out, ValueId, num_allocations);
  model.given_bytes = arena_zarray(out, int64_t, num_allocations);
  model.of_buffer = arena_array(out, ValueId, buffers->num_buffers);
  model.is_result = arena_zarray(out, bool, buffers->num_buffers);
  if (num_allocations) {
    memset(model.of_allocation, 0xff, num_allocations * sizeof *model.of_allocation);
  }
  memset(model.of_buffer, 0xff, buffers->num_buffers * sizeof *model.of_buffer);
  InstId root = comp_get(module, module->entry)->root;
  for (uint32_t part = 0; part < inst_shape(module, root)->num_parts; part++) {
    BufferId buffer = buffers->of[dataflow_value(&model.heap.values.flow, root, part)];
    int64_t *bytes = &model.given_bytes[model.heap.assignment.of[buffer]];
    ShapeId shape = shape_part(&module->shapes, inst_get(module, root)->shape, part);
    int64_t of_part = target_sizes.of_part(module, shape);
    if (of_part > *bytes) *bytes = of_part;
    model.is_result[buffer] = true;
  }
  choose_values(&model);
  return model;
}

static void add_live(LiveSet *live, const HeapModel *model, ValueId value, int64_t bytes) {
  const HloValue *held = &model->heap.values.flow.values.data[value];
  const LiveRanges *ranges = &model->heap.ranges;
  LiveRange range = ranges->of[value];
  InstId first = range.start != NO_TIME ? ranges->flat[range.start] : held->inst;
  InstId last =
      range.start != NO_TIME && range.end < ranges->num_times ? ranges->flat[range.end] : NO_ID;
  if (bytes > 0) live->list[live->len++] = (LiveBuffer){held->inst, held->part, bytes, first, last};
}

/* A constant is live from the beginning to the end. Constants of reducers have no HloValue. */
static void add_constant(LiveSet *live, const HeapModel *model, ValueId value,
                         const Allocation *allocation) {
  const LiveRanges *ranges = &model->heap.ranges;
  LiveBuffer buffer = {.inst = allocation->inst, .bytes = allocation->bytes, .last = NO_ID};
  if (value != NO_ID) {
    buffer.inst = model->heap.values.flow.values.data[value].inst;
    buffer.part = model->heap.values.flow.values.data[value].part;
  }
  buffer.first = ranges->num_times ? ranges->flat[0] : buffer.inst;
  if (buffer.bytes > 0) live->list[live->len++] = buffer;
}

/* A parameter is as large as the caller made it, even if the output that aliases it is smaller, and
 * a result has the size of its shape, even if it is a bitcast of something larger. */
static int64_t held_bytes(const HeapModel *model, uint32_t index) {
  const Allocation *allocation = &model->heap.assignment.allocations.data[index];
  int64_t given = model->given_bytes[index];
  bool is_given = allocation->kind == ALLOCATION_PARAMETER ||
                  (allocation->is_live_out && given < allocation->bytes);
  return is_given ? given : allocation->bytes;
}

static LiveSet live_at_peak(const Module *module, const HeapAnalysis *heap, Arena *out,
                            Arena *scratch) {
  HeapModel model = heap_model_build(module, heap, scratch);
  const Dataflow *flow = &model.heap.values.flow;
  uint32_t num_allocations = model.heap.assignment.allocations.len;
  LiveSet live = {.list = arena_array(out, LiveBuffer, (size_t)flow->values.len + num_allocations)};
  for (uint32_t i = 0; i < num_allocations; i++) {
    const Allocation *allocation = &model.heap.assignment.allocations.data[i];
    if (!target_is_device_space(module->backend.target, allocation->color)) continue;
    if (allocation->kind == ALLOCATION_CONSTANT) {
      add_constant(&live, &model, model.of_allocation[i], allocation);
    } else if (model.of_allocation[i] != NO_ID) {
      add_live(&live, &model, model.of_allocation[i], held_bytes(&model, i));
    }
  }
  for (BufferId buffer = 0; buffer < model.heap.values.buffers.num_buffers; buffer++) {
    ValueId value = model.of_buffer[buffer];
    if (value != NO_ID) add_live(&live, &model, value, flow->values.data[value].bytes);
  }
  live_set_sort(&live);
  return live;
}

/* What ran in the computation of a pair that is joined runs while its end does. */
static void fill_joined(const Module *module, const HeapAnalysis *heap, MemoryProfile *profile) {
  if (heap->module == module) return;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!inst_is_joined_start(module, heap->module, id)) continue;
    CompId comp = inst_callees(module, id)[0];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++)
      profile->bytes_at[comp_inst(module, comp, i)] = profile->bytes_at[inst_users(module, id)[0]];
  }
}

MemoryProfile measure_heap(const Module *module, const Schedule *schedule, LiveSet *live,
                           Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  HeapAnalysis heap = heap_analysis_run(module, schedule, HEAP_SIZES, arena, scratch);
  MemoryProfile profile = heap_profile(heap.module, &heap, out, scratch);
  fill_joined(module, &heap, &profile);
  if (live) *live = live_at_peak(heap.module, &heap, out, arena);
  arena_free(arena);
  return profile;
}
