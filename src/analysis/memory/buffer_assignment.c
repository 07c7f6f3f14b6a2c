#include "analysis/memory/buffer_assignment.h"

#include "analysis/flow/traverse.h"
#include "ir/sort.h"

/* The time at which memory is occupied, or requested: a set of slices of the time, and a live
 * range. A request conflicts if one of its slices is occupied from begin to end, or if the inner
 * times of the two ranges overlap. */
typedef struct Hold {
  uint64_t slices;
  LogicalTime start, end;
} Hold;

/* The allocations that a buffer may be put into, oldest first, as the leaves of a tree. Node n has
 * what is true of all leaves below it: the common slices, the latest start and the earliest end.
 * Occupied memory stays occupied, so a node that is out of date only claims too little. */
typedef struct Reusable {
  uint32_t *list;
  Hold *taken; /* by node: when all leaves below are occupied */
  uint32_t len, num_leaves;
} Reusable;

typedef struct Assigner {
  const Module *module;
  const ValueAnalysis *values;
  const LiveRanges *ranges;
  int64_t alignment;
  HeapDetail detail;
  BufferAssignment *result;
  Allocations allocations;
  Reusable reusable;
  bool *is_delayed; /* by BufferId: is placed later, in a heap */
  Arena *out;
  Arena *scratch;
} Assigner;

/* ---- allocations that may be reused ---- */

/* Reserves leaves for all results and donated parameters, and one more. A leaf without an
 * allocation counts as occupied. */
static Reusable reusable_init(const Module *module, Arena *out) {
  InstId root = comp_get(module, module->entry)->root;
  uint32_t room = inst_shape(module, root)->num_parts + module->source->header.aliases.len + 1;
  Reusable reusable = {.list = arena_array(out, uint32_t, room), .num_leaves = 1};
  while (reusable.num_leaves < room)
    reusable.num_leaves *= 2;
  reusable.taken = arena_array(out, Hold, 2 * (size_t)reusable.num_leaves);
  for (uint32_t node = 0; node < 2 * reusable.num_leaves; node++)
    reusable.taken[node] = (Hold){UINT64_MAX, 0, NO_TIME};
  return reusable;
}

static Hold hold_of(const Allocation *allocation) {
  LiveRange longest = allocation->longest;
  if (longest.start == NO_TIME) return (Hold){allocation->busy_slices, NO_TIME, 0};
  return (Hold){allocation->busy_slices, longest.start, longest.end};
}

static Hold common_hold(Hold a, Hold b) {
  return (Hold){a.slices & b.slices, a.start > b.start ? a.start : b.start,
                a.end < b.end ? a.end : b.end};
}

static bool has_to_wait(Hold wanted, Hold taken) {
  return taken.slices & wanted.slices || (wanted.start < taken.end && wanted.end > taken.start);
}

static void reusable_set(Reusable *reusable, uint32_t at, Hold taken) {
  uint32_t node = reusable->num_leaves + at;
  reusable->taken[node] = taken;
  while (node /= 2)
    reusable->taken[node] = common_hold(reusable->taken[2 * node], reusable->taken[2 * node + 1]);
}

static void reusable_add(Reusable *reusable, const Allocation *allocation) {
  reusable->list[reusable->len] = allocation->id;
  reusable_set(reusable, reusable->len++, hold_of(allocation));
}

/* The newest allocation before `limit` that may have room; NO_ID when there is none. */
static uint32_t reusable_before(const Reusable *reusable, uint32_t limit, Hold wanted) {
  for (uint32_t node = reusable->num_leaves + limit;;) {
    while (node % 2 == 0)
      node /= 2;
    if (node == 1) return NO_ID;
    for (node--; !has_to_wait(wanted, reusable->taken[node]); node = 2 * node + 1)
      if (node >= reusable->num_leaves) return node - reusable->num_leaves;
  }
}

/* ---- the order in which buffers are placed ---- */

static uint32_t *number_positions(const Assigner *assigner) {
  const Module *module = assigner->module;
  const CallGraph *graph = &assigner->values->graph;
  uint32_t *position = arena_array(assigner->scratch, uint32_t, module->insts.len), next = 0;
  uint8_t *visited = arena_zarray(assigner->scratch, uint8_t, module->insts.len);
  for (uint32_t i = graph->num_reachable; i-- > 0;) {
    if (!comp_is_sequential(graph, graph->post_order[i])) continue;
    Sequence order = inst_post_order(module, graph->post_order[i], visited, assigner->scratch,
                                     assigner->scratch);
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

static bool is_donated(const Module *module, const HloValue *value) {
  const ModuleHeader *header = &module->source->header;
  int64_t index = inst_get(module, value->inst)->index;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param == index && alias->param_part == value->part) return true;
  }
  return false;
}

static bool assign_special(Assigner *assigner, BufferId buffer) {
  const Module *module = assigner->module;
  const HloBuffers *buffers = &assigner->values->buffers;
  bool is_tuple = false, runs = true;
  for (uint32_t i = buffers->first_value[buffer]; i < buffers->first_value[buffer + 1]; i++) {
    const HloValue *value = &assigner->values->flow.values.data[buffers->values[i]];
    const Instruction *inst = inst_get(module, value->inst);
    if (inst->opcode == OPCODE_CONSTANT) {
      allocations_new(&assigner->allocations, ALLOCATION_CONSTANT, buffer);
      return true;
    }
    if (inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry) {
      uint32_t index = allocations_new(&assigner->allocations, ALLOCATION_PARAMETER, buffer);
      if (is_donated(module, value)) {
        assigner->allocations.list.data[index].is_donated = true;
        reusable_add(&assigner->reusable, &assigner->allocations.list.data[index]);
      }
      return true;
    }
    is_tuple |= shape_is_tuple(shape_get(&module->shapes, value->shape));
    runs &= assigner->ranges->of[buffers->values[i]].start != NO_TIME;
  }
  if (!is_tuple && runs) return false;
  allocations_new(&assigner->allocations, runs ? ALLOCATION_TUPLE : ALLOCATION_THREAD_LOCAL,
                  buffer);
  return true;
}

/* ---- buffers that may share an allocation ---- */

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
      if (allocation != NO_ID && allocations_try(&assigner->allocations, allocation, buffer)) {
        return true;
      }
    }
  }
  return false;
}

/* Tries the newest allocation first: the newest are the smallest. */
static bool reuse_any(Assigner *assigner, BufferId buffer) {
  Reusable *reusable = &assigner->reusable;
  LiveRange longest = allocations_longest(&assigner->allocations, buffer);
  Hold wanted = {allocations_slices(&assigner->allocations, buffer), longest.start, longest.end};
  for (uint32_t at = reusable_before(reusable, reusable->len, wanted); at != NO_ID;
       at = reusable_before(reusable, at, wanted)) {
    uint32_t allocation = reusable->list[at];
    if (!has_to_wait(wanted, hold_of(&assigner->allocations.list.data[allocation])) &&
        allocations_try(&assigner->allocations, allocation, buffer)) {
      return true;
    }
    reusable_set(reusable, at, hold_of(&assigner->allocations.list.data[allocation]));
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
    if (!assigner->allocations.is_live_out[buffer]) {
      assigner->is_delayed[buffer] = true;
      continue;
    }
    uint32_t index = allocations_new(&assigner->allocations, ALLOCATION_PLAIN, buffer);
    reusable_add(&assigner->reusable, &assigner->allocations.list.data[index]);
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
  return module->backend.packer ? module->backend.packer : packer_find("xla");
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
  assigner->result->heap_bytes += packing->height_bytes;
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
static HeapRequests simulate(Assigner *assigner, const bool *is_wanted, Arena *out) {
  uint32_t num_values = assigner->values->flow.values.len;
  HeapQuery query = {.module = assigner->module,
                     .flow = &assigner->values->flow,
                     .buffers = &assigner->values->buffers,
                     .ranges = assigner->ranges,
                     .is_wanted = is_wanted};
  ArenaMark mark = arena_mark(assigner->scratch);
  HeapTrace trace = heap_simulate(&query, assigner->scratch, out);
  HeapCount live = {.bytes_at = assigner->result->heap_bytes_at,
                    .taken_at = assigner->result->taken_at};
  heap_count_live(&trace, COUNT_SHARED_ONCE, assigner->ranges->num_times, num_values, &live, out);
  HeapRequests requests =
      heap_requests(&trace, num_values, assigner->alignment, out, assigner->scratch);
  arena_reset(assigner->scratch, mark);
  return requests;
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
  HeapRequests requests = simulate(assigner, is_wanted, inner);
  uint32_t num_buffers = requests.problem.num_buffers;
  Packing packing = {.offsets = arena_array(inner, int64_t, num_buffers),
                     .any_will_do = assigner->detail == HEAP_SIZES,
                     .heap_limit_bytes = backend->heap_limit_bytes};
  if (backend->heap_limit_bytes >= 0) packing.heaps = arena_array(inner, uint32_t, num_buffers);
  PackBudget budget = {.max_steps = backend->max_pack_steps};
  heap_packer(assigner->module)->run(&requests.problem, -1, &budget, &packing, assigner->scratch);
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
      allocation->bytes =
          shape_get(&module->shapes, shape_part(&module->shapes, shape, part))->bytes;
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
    list[into].bytes = align_up(list[into].bytes, assigner->alignment);
    moved[list[i].id].offset = list[into].bytes;
    list[into].kind = ALLOCATION_HEAP;
    list[into].bytes += list[i].bytes;
  }
  assigner->allocations.list.len = len;
  assigner->result->num_temps = len - num_kept;
  move_buffers(assigner, moved);
}

static void add_up(BufferAssignment *result) {
  for (uint32_t i = 0; i < result->allocations.len; i++) {
    const Allocation *allocation = &result->allocations.data[i];
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
  Assigner assigner = {.module = module,
                       .values = values,
                       .ranges = ranges,
                       .alignment = alignment,
                       .detail = detail,
                       .result = &result,
                       .allocations = allocations_init(module, &values->flow, &values->buffers,
                                                       ranges, out, scratch),
                       .reusable = reusable_init(module, scratch),
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
  add_up(&result);
  arena_reset(scratch, mark);
  return result;
}
