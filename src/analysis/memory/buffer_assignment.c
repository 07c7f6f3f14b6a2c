#include "analysis/memory/buffer_assignment.h"

#include "analysis/flow/placed.h"
#include "analysis/memory/reusable.h"
#include "analysis/pack/start.h"
#include "ir/sort.h"

typedef struct Assigner {
  const Module *module;
  const ValueAnalysis *values;
  const LiveRanges *ranges;
  int64_t alignment;
  HeapDetail detail;
  BufferAssignment *result;
  Allocations allocations;
  Reusable reusable;
  bool *is_donated; /* by ValueId: it belongs to a parameter that may be overwritten */
  bool *is_state;   /* by BufferId: mark_states() */
  bool *is_delayed; /* by BufferId: is placed later, in a heap */
  Arena *out;
  Arena *scratch;
} Assigner;

static bool is_on_device(const Assigner *assigner, int64_t color) {
  return target_is_device_space(assigner->module->backend.target, color);
}

static int64_t alignment_in(const Assigner *assigner, int64_t color) {
  return is_on_device(assigner, color)
             ? assigner->alignment
             : target_space_alignment(assigner->module->backend.target, color);
}

/* ---- allocations that may be reused ---- */

/* What a buffer may share an allocation with is of the same color and, on a target where
 * temporaries have no part in the memory of results (may_share()), both or neither are results.
 * Several sorts may share a bit. */
static uint64_t sort_bit(const Assigner *assigner, int64_t color, bool is_result) {
  enum { SORTS = 32 };
  uint64_t sort = (uint64_t)color % SORTS;
  if (assigner->module->backend.target->has_spaces && !is_result) sort += SORTS;
  return UINT64_C(1) << sort;
}

/* Has room for all results, donated parameters and states of what runs asynchronously. */
static Reusable reusable_of(const Module *module, uint32_t num_states, Arena *out) {
  InstId root = comp_get(module, module->entry)->root;
  uint32_t num_results = inst_shape(module, root)->num_parts;
  return reusable_init(num_results + module->source->header.aliases.len + num_states + 1, out);
}

static bool is_for_results(const Allocation *allocation) {
  return allocation->is_live_out || allocation->kind == ALLOCATION_PARAMETER;
}

static Offer offer_of(const Assigner *assigner, const Allocation *allocation) {
  return (Offer){allocation->free_time,
                 sort_bit(assigner, allocation->color, is_for_results(allocation))};
}

static void make_reusable(Assigner *assigner, uint32_t index) {
  Allocation *allocation = &assigner->allocations.list.data[index];
  Offer offer = offer_of(assigner, allocation);
  allocation->reusable = reusable_add(&assigner->reusable, index, &offer);
}

/* Puts a buffer into an allocation if that is possible. */
static bool try_allocation(Assigner *assigner, uint32_t index, BufferId buffer) {
  const Allocation *allocation = &assigner->allocations.list.data[index];
  if (!allocations_try(&assigner->allocations, index, buffer)) return false;
  if (allocation->reusable == NO_ID) return true;
  Offer offer = offer_of(assigner, allocation);
  reusable_set(&assigner->reusable, allocation->reusable, &offer);
  return true;
}

/* ---- the order in which buffers are placed ---- */

static uint32_t *number_positions(const Assigner *assigner) {
  const Module *module = assigner->module;
  const CallGraph *graph = &assigner->values->graph;
  uint32_t *position = arena_array(assigner->scratch, uint32_t, module->insts.len), next = 0;
  for (uint32_t i = graph->num_reachable; i-- > 0;) {
    Sequence order = assigner->values->flow.post_order[graph->post_order[i]];
    for (uint32_t k = 0; k < order.len; k++)
      position[order.ids[k]] = next++;
  }
  return position;
}

/* Largest first; of equal ones those that are live out first; then by the position of the first
 * definition, callers before callees. */
static SortItem *sort_buffers(const Assigner *assigner) {
  const HloBuffers *buffers = &assigner->values->buffers;
  uint32_t num_buffers = buffers->num_buffers;
  const uint32_t *position = number_positions(assigner);
  SortItem *items = arena_array(assigner->scratch, SortItem, num_buffers);
  for (BufferId buffer = 0; buffer < num_buffers; buffer++) {
    items[buffer] = (SortItem){UINT32_MAX, buffer};
    for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
      InstId inst = assigner->values->flow.values.data[buffers->values[i]].inst;
      if (position[inst] < items[buffer].key) items[buffer].key = position[inst];
    }
  }
  sort_by_key(items, num_buffers, assigner->scratch);
  for (uint32_t i = 0; i < num_buffers; i++) {
    BufferId buffer = items[i].id;
    items[i].key = key_largest_first(assigner->allocations.buffer_bytes[buffer]) << 1 |
                   !assigner->allocations.is_live_out[buffer];
  }
  sort_by_key(items, num_buffers, assigner->scratch);
  return items;
}

/* ---- buffers with allocations of their own ---- */

static bool *mark_donated(const Module *module, const Dataflow *flow, Arena *out) {
  const ModuleHeader *header = &module->source->header;
  const InstId *params = id_list(module, comp_get(module, module->entry)->params);
  bool *is_donated = arena_zarray(out, bool, flow->values.len);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    is_donated[dataflow_value(flow, params[alias->param], alias->param_part)] = true;
  }
  return is_donated;
}

/* What runs asynchronously on XLA:TPU has a state, whose allocation is its own and holds
 * temporaries when it is gone. (Before memory-space assignment it is in a memory space of its own.)
 * Returns how many buffers are marked. */
static uint32_t mark_states(const Module *module, const ValueAnalysis *values, bool *is_state) {
  uint32_t num_states = 0;
  for (ValueId id = 0; id < values->flow.values.len; id++) {
    const HloValue *value = &values->flow.values.data[id];
    bool *is_marked = &is_state[values->buffers.of[id]];
    if (value->bytes == 0 || *is_marked || !value_is_async_state(module, value)) continue;
    *is_marked = true;
    num_states++;
  }
  return num_states;
}

static bool assign_special(Assigner *assigner, BufferId buffer) {
  const Module *module = assigner->module;
  const HloBuffers *buffers = &assigner->values->buffers;
  bool is_tuple = false, runs = true, is_removed = false;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    const HloValue *value = &assigner->values->flow.values.data[buffers->values[i]];
    const Instruction *inst = inst_get(module, value->inst);
    if (inst->opcode == OPCODE_CONSTANT) {
      allocations_new(&assigner->allocations, ALLOCATION_CONSTANT, buffer);
      return true;
    }
    if (inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry) {
      uint32_t index = allocations_new(&assigner->allocations, ALLOCATION_PARAMETER, buffer);
      if (assigner->is_donated[buffers->values[i]]) {
        assigner->allocations.list.data[index].is_donated = true;
        make_reusable(assigner, index);
      }
      return true;
    }
    const Shape *shape = shape_get(&module->shapes, value->shape);
    is_tuple |= shape_is_tuple(shape);
    is_removed |= shape_is_tuple(shape) && value->bytes < shape->bytes; /* is_removed_table() */
    runs &= assigner->ranges->of[buffers->values[i]].start != NO_TIME;
  }
  if (!is_tuple && runs) return false;
  if (is_removed && runs) { /* XLA has no allocation for it: it takes nothing of the heap */
    assigner->is_delayed[buffer] = true;
    return true;
  }
  allocations_new(&assigner->allocations, runs ? ALLOCATION_TUPLE : ALLOCATION_THREAD_LOCAL,
                  buffer);
  return true;
}

/* ---- buffers that may share an allocation ---- */

/* No temporary of XLA:TPU's dumps has memory of a result or of a donated parameter. */
static bool may_share(const Assigner *assigner, uint32_t allocation, BufferId buffer) {
  bool is_result = is_for_results(&assigner->allocations.list.data[allocation]);
  return !assigner->module->backend.target->has_spaces ||
         assigner->allocations.is_live_out[buffer] == is_result;
}

static bool reuse_operand(Assigner *assigner, BufferId buffer) {
  const HloBuffers *buffers = &assigner->values->buffers;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    const HloValue *value = &assigner->values->flow.values.data[buffers->values[i]];
    if (value->part != 0) continue;
    uint32_t num_operands = inst_get(assigner->module, value->inst)->num_operands;
    for (uint32_t k = 0; k < num_operands; k++) {
      InstId operand = inst_operand(assigner->module, value->inst, k);
      BufferId held = buffers->of[dataflow_value(&assigner->values->flow, operand, 0)];
      uint32_t allocation = assigner->allocations.of[held];
      if (allocation == NO_ID || !may_share(assigner, allocation, buffer)) continue;
      if (try_allocation(assigner, allocation, buffer)) return true;
    }
  }
  return false;
}

/* Tries the newest allocation first: the newest are the smallest. A buffer that is live out needs
 * an allocation of its own size, and all that are older are larger. */
static bool reuse_any(Assigner *assigner, BufferId buffer) {
  const Allocations *allocations = &assigner->allocations;
  LiveRange longest = allocations_longest(allocations, buffer);
  uint64_t sort =
      sort_bit(assigner, allocations_color(allocations, buffer), allocations->is_live_out[buffer]);
  Wish wish = {{longest.start, longest.end}, sort};
  int64_t bytes = allocations->buffer_bytes[buffer];
  for (uint32_t at = reusable_before(&assigner->reusable, assigner->reusable.len, &wish);
       at != NO_ID; at = reusable_before(&assigner->reusable, at, &wish)) {
    uint32_t allocation = assigner->reusable.list[at];
    if (try_allocation(assigner, allocation, buffer)) return true;
    bool is_larger = allocations->list.data[allocation].bytes > bytes;
    if (is_larger && allocations->is_live_out[buffer]) return false;
  }
  return false;
}

static void assign_buffers(Assigner *assigner) {
  ArenaMark mark = arena_mark(assigner->scratch);
  const SortItem *order = sort_buffers(assigner);
  for (uint32_t i = 0; i < assigner->values->buffers.num_buffers; i++) {
    BufferId buffer = order[i].id;
    if (assign_special(assigner, buffer)) continue;
    bool may_reuse = assigner->reusable.len > 0;
    if (may_reuse && (reuse_operand(assigner, buffer) || reuse_any(assigner, buffer))) continue;
    if (!assigner->allocations.is_live_out[buffer] && !assigner->is_state[buffer]) {
      assigner->is_delayed[buffer] = true;
      continue;
    }
    uint32_t index = allocations_new(&assigner->allocations, ALLOCATION_PLAIN, buffer);
    make_reusable(assigner, index);
  }
  arena_reset(assigner->scratch, mark);
}

/* ---- all other buffers: a heap for each color ---- */

/* The next color of a delayed buffer, after `color`; INT64_MAX when there is none. */
static int64_t next_color(const Assigner *assigner, int64_t color) {
  int64_t next = INT64_MAX;
  for (BufferId buffer = 0; buffer < assigner->values->buffers.num_buffers; buffer++) {
    if (!assigner->is_delayed[buffer]) continue;
    int64_t other = allocations_color(&assigner->allocations, buffer);
    if (other > color && other < next) next = other;
  }
  return next;
}

const Packer *heap_packer(const Module *module) {
  if (module->backend.packer) return module->backend.packer;
  return packer_find(module->backend.target->has_spaces ? "start" : "xla");
}

/* In VMEM, what XLA:TPU's dumps show is as `xla` packs it, or close to that. */
static const Packer *packer_in(const Assigner *assigner, int64_t color) {
  const Packer *chosen = assigner->module->backend.packer;
  if (chosen || is_on_device(assigner, color)) return heap_packer(assigner->module);
  return packer_find("xla");
}

/* Adds an allocation for each heap; returns the first one. */
static uint32_t add_heaps(Assigner *assigner, int64_t color, const PackProblem *problem,
                          const Packing *packing) {
  ArenaMark mark = arena_mark(assigner->scratch);
  const int64_t *heights = &packing->height_bytes;
  if (packing->heaps) heights = pack_heap_heights(problem, packing, assigner->scratch);
  uint32_t first = assigner->allocations.list.len;
  for (uint32_t heap = 0; heap < (packing->heaps ? packing->num_heaps : 1); heap++) {
    uint32_t index = allocations_new(&assigner->allocations, ALLOCATION_HEAP, NO_ID);
    assigner->allocations.list.data[index].bytes = heights[heap];
    assigner->allocations.list.data[index].color = color;
  }
  if (is_on_device(assigner, color)) assigner->result->heap_bytes += packing->height_bytes;
  arena_reset(assigner->scratch, mark);
  return first;
}

/* Values without bytes are put into the first heap. */
static void put_into_heaps(Assigner *assigner, const bool *is_wanted, const HeapRequests *requests,
                           const Packing *packing, uint32_t first) {
  const HloBuffers *buffers = &assigner->values->buffers;
  for (ValueId value = 0; value < assigner->values->flow.values.len; value++) {
    if (is_wanted[value]) assigner->allocations.of[buffers->of[value]] = first;
  }
  for (uint32_t i = 0; i < requests->problem.num_buffers; i++) {
    const PackBuffer *buffer = &requests->problem.buffers[i];
    for (uint32_t k = 0; k < buffer->num_ranges; k++) {
      ValueId value = requests->values[buffer->first_range + k];
      assigner->result->offsets[value] = packing->offsets[i];
      if (packing->heaps) assigner->allocations.of[buffers->of[value]] = first + packing->heaps[i];
    }
  }
}

/* The requests to a heap, whose live bytes are counted. The trace is in scratch memory, which
 * packing reuses when the trace is gone. */
static HeapRequests simulate(Assigner *assigner, const bool *is_wanted, int64_t color, Arena *out) {
  uint32_t num_values = assigner->values->flow.values.len;
  HeapQuery query = {.module = assigner->module,
                     .flow = &assigner->values->flow,
                     .buffers = &assigner->values->buffers,
                     .ranges = assigner->ranges,
                     .is_wanted = is_wanted,
                     .without_barriers = assigner->module->backend.target->removes_barriers};
  ArenaMark mark = arena_mark(assigner->scratch);
  HeapTrace trace = heap_simulate(&query, assigner->scratch, out);
  HeapCount live = {.bytes_at = assigner->result->heap_bytes_at,
                    .taken_at = assigner->result->taken_at};
  if (!is_on_device(assigner, color)) {
    live.bytes_at =
        arena_zarray(assigner->scratch, int64_t, (size_t)assigner->ranges->num_times + 1);
  }
  heap_count_live(&trace, COUNT_SHARED_ONCE, assigner->ranges->num_times, num_values, &live, out);
  HeapRequests requests =
      heap_requests(&trace, num_values, alignment_in(assigner, color), out, assigner->scratch);
  arena_reset(assigner->scratch, mark);
  return requests;
}

bool awaits_vmem(const Module *module) {
  return module->backend.tpu.vmem_bytes > 0 && !module_is_placed(module);
}

static void assign_heap(Assigner *assigner, int64_t color) {
  uint32_t num_values = assigner->values->flow.values.len;
  const HloBuffers *buffers = &assigner->values->buffers;
  const Backend *backend = &assigner->module->backend;
  ArenaMark mark = arena_mark(assigner->scratch);
  bool *is_wanted = arena_zarray(assigner->scratch, bool, num_values);
  for (ValueId value = 0; value < num_values; value++) {
    BufferId buffer = buffers->of[value];
    is_wanted[value] =
        assigner->is_delayed[buffer] && allocations_color(&assigner->allocations, buffer) == color;
  }
  Arena *inner = arena_new(arena_options(assigner->scratch));
  HeapRequests requests = simulate(assigner, is_wanted, color, inner);
  uint32_t num_buffers = requests.problem.num_buffers;
  Packing packing = {.offsets = arena_array(inner, int64_t, num_buffers),
                     .any_will_do = assigner->detail == HEAP_SIZES,
                     .heap_limit_bytes = backend->heap_limit_bytes};
  if (backend->heap_limit_bytes >= 0) packing.heaps = arena_array(inner, uint32_t, num_buffers);
  PackBudget budget = {.max_steps = backend->max_pack_steps};
  /* XLA:TPU packs again what the device has no room for. */
  int64_t capacity_bytes = backend->packer || !backend->tpu.hbm_bytes ? -1 : backend->tpu.hbm_bytes;
  packer_in(assigner, color)
      ->run(&requests.problem, capacity_bytes, &budget, &packing, assigner->scratch);
  if (is_on_device(assigner, color) && awaits_vmem(assigner->module)) {
    assigner->result->heap_bytes_beside =
        pack_start_beside(&requests.problem, backend->tpu.vmem_value_bytes, assigner->scratch);
  }
  uint32_t first = add_heaps(assigner, color, &requests.problem, &packing);
  put_into_heaps(assigner, is_wanted, &requests, &packing, first);
  arena_free(inner);
  arena_reset(assigner->scratch, mark);
}

/* ---- memory of embedded computations ---- */

/* The number of values that an instruction of an embedded computation, such as a reducer, defines
 * (HloDataflowAnalysis). */
static uint32_t num_defined_parts(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_BITCAST:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_OPT_BARRIER:
    case OPCODE_DOMAIN:
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_CALL:
    case OPCODE_CONDITIONAL:
    case OPCODE_WHILE: return 0;
    case OPCODE_TUPLE:
    case OPCODE_COPY: return 1;
    default: return inst_shape(module, id)->num_parts;
  }
}

static void assign_expression(Assigner *assigner, CompId comp) {
  const Module *module = assigner->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    ShapeId shape = inst_get(module, id)->shape;
    bool is_constant = inst_get(module, id)->opcode == OPCODE_CONSTANT;
    for (uint32_t part = 0; part < num_defined_parts(module, id); part++) {
      AllocationKind kind = is_constant ? ALLOCATION_CONSTANT : ALLOCATION_THREAD_LOCAL;
      uint32_t index = allocations_new(&assigner->allocations, kind, NO_ID);
      Allocation *allocation = &assigner->allocations.list.data[index];
      allocation->inst = id;
      const Shape *held = shape_get(&module->shapes, shape_part(&module->shapes, shape, part));
      allocation->bytes = held->bytes;
      allocation->color = shape_memory_space(held);
    }
  }
}

static void assign_expressions(Assigner *assigner) {
  const CallGraph *graph = &assigner->values->graph;
  for (uint32_t i = 0; i < graph->num_reachable; i++) {
    CompId comp = graph->post_order[i];
    if (comp_is_sequential(graph, comp)) continue;
    IdSpan callers = callers_of(graph, comp);
    bool is_fused = false;
    for (uint32_t k = 0; k < callers.len; k++)
      is_fused |= inst_get(assigner->module, callers.ids[k])->opcode == OPCODE_FUSION;
    if (!is_fused) assign_expression(assigner, comp);
  }
}

/* ---- temporaries become one allocation for each color, as far as the limit goes ---- */

static bool is_temp(const Allocation *allocation) {
  switch (allocation->kind) {
    case ALLOCATION_PARAMETER:
    case ALLOCATION_CONSTANT:
    case ALLOCATION_THREAD_LOCAL: return false;
    default: return !allocation->is_live_out;
  }
}

/* Moves temporaries to the end of the list, like std::partition with pointers from both ends: which
 * of them comes last matters, because the last one is not rounded up. */
static uint32_t move_temps_back(Allocation *list, uint32_t len) {
  uint32_t first = 0, last = len;
  for (;;) {
    while (first < last && !is_temp(&list[first]))
      first++;
    while (first < last && is_temp(&list[last - 1]))
      last--;
    if (first == last) return first;
    Allocation other = list[first];
    list[first] = list[--last];
    list[last] = other;
    first++;
  }
}

/* The place of an allocation that was merged into another one. */
typedef struct Moved {
  uint32_t index;
  int64_t offset;
} Moved;

static void move_buffers(Assigner *assigner, const Moved *moved) {
  const HloBuffers *buffers = &assigner->values->buffers;
  BufferAssignment *result = assigner->result;
  result->of = assigner->allocations.of;
  for (ValueId value = 0; value < assigner->values->flow.values.len; value++)
    result->offsets[value] += moved[result->of[buffers->of[value]]].offset;
  for (BufferId buffer = 0; buffer < buffers->num_buffers; buffer++)
    result->of[buffer] = moved[result->of[buffer]].index;
}

/* The last allocation of temp's color among [first, end); `end` when there is none, or when the sum
 * of both reaches the limit. */
static uint32_t find_combined(const Assigner *assigner, const Allocation *list, uint32_t first,
                              uint32_t end, const Allocation *temp) {
  int64_t limit = assigner->module->backend.heap_limit_bytes;
  for (uint32_t i = end; i-- > first;) {
    if (list[i].color != temp->color) continue;
    return limit < 0 || list[i].bytes + temp->bytes < limit ? i : end;
  }
  return end;
}

/* XLA:TPU allocates whole units of the alignment, as its memory_analysis() says. */
static void round_up_temps(Assigner *assigner, uint32_t first, uint32_t end) {
  if (!assigner->module->backend.target->has_spaces) return;
  for (uint32_t i = first; i < end; i++) {
    Allocation *allocation = &assigner->allocations.list.data[i];
    allocation->bytes = align_up(allocation->bytes, alignment_in(assigner, allocation->color));
  }
}

static void combine_temps(Assigner *assigner) {
  Allocation *list = assigner->allocations.list.data;
  uint32_t num_allocations = assigner->allocations.list.len;
  Moved *moved = arena_zarray(assigner->scratch, Moved, num_allocations);
  uint32_t num_kept = move_temps_back(list, num_allocations), len = num_kept;
  for (uint32_t i = 0; i < num_kept; i++)
    moved[list[i].id].index = i;
  for (uint32_t i = num_kept; i < num_allocations; i++) {
    uint32_t into = find_combined(assigner, list, num_kept, len, &list[i]);
    moved[list[i].id].index = into;
    if (into == len) {
      list[len++] = list[i];
      continue;
    }
    list[into].bytes = align_up(list[into].bytes, alignment_in(assigner, list[i].color));
    moved[list[i].id].offset = list[into].bytes;
    list[into].kind = ALLOCATION_HEAP;
    list[into].bytes += list[i].bytes;
  }
  round_up_temps(assigner, num_kept, len);
  assigner->allocations.list.len = len;
  assigner->result->num_temps = len - num_kept;
  move_buffers(assigner, moved);
}

static void add_up(const Assigner *assigner, BufferAssignment *result) {
  for (uint32_t i = 0; i < result->allocations.len; i++) {
    const Allocation *allocation = &result->allocations.data[i];
    if (!is_on_device(assigner, allocation->color)) continue;
    bool is_param = allocation->kind == ALLOCATION_PARAMETER;
    if (is_param) result->parameter_bytes += allocation->bytes;
    if (allocation->is_live_out) result->output_bytes += allocation->bytes;
    if (is_param && allocation->is_live_out) result->aliased_bytes += allocation->bytes;
    if (allocation->kind == ALLOCATION_CONSTANT) result->constant_bytes += allocation->bytes;
    if (allocation->kind == ALLOCATION_THREAD_LOCAL) {
      result->thread_local_bytes += allocation->bytes;
    }
    if (is_temp(allocation)) result->temp_bytes += allocation->bytes;
  }
}

BufferAssignment buffer_assignment_run(const Module *module, const ValueAnalysis *values,
                                       const LiveRanges *ranges, int64_t alignment,
                                       HeapDetail detail, Arena *out, Arena *scratch) {
  uint32_t num_values = values->flow.values.len;
  BufferAssignment result = {
      .offsets = arena_zarray(out, int64_t, num_values),
      .heap_bytes_at = arena_zarray(out, int64_t, (size_t)ranges->num_times + 1),
      .taken_at = arena_array(out, LogicalTime, num_values)};
  for (ValueId value = 0; value < num_values; value++)
    result.taken_at[value] = NO_TIME;
  ArenaMark mark = arena_mark(scratch);
  bool *is_state = arena_zarray(scratch, bool, values->buffers.num_buffers);
  uint32_t num_states = mark_states(module, values, is_state);
  Assigner assigner = {.module = module,
                       .values = values,
                       .ranges = ranges,
                       .alignment = alignment,
                       .detail = detail,
                       .result = &result,
                       .allocations = allocations_init(module, &values->flow, &values->buffers,
                                                       ranges, out, scratch),
                       .reusable = reusable_of(module, num_states, scratch),
                       .is_donated = mark_donated(module, &values->flow, scratch),
                       .is_state = is_state,
                       .is_delayed = arena_zarray(scratch, bool, values->buffers.num_buffers),
                       .out = out,
                       .scratch = scratch};
  assign_buffers(&assigner);
  for (int64_t color = next_color(&assigner, -1); color != INT64_MAX;
       color = next_color(&assigner, color)) {
    assign_heap(&assigner, color);
  }
  assign_expressions(&assigner);
  combine_temps(&assigner);
  result.allocations.data = assigner.allocations.list.data;
  result.allocations.len = assigner.allocations.list.len;
  result.allocations.cap = assigner.allocations.list.cap;
  add_up(&assigner, &result);
  arena_reset(scratch, mark);
  return result;
}
