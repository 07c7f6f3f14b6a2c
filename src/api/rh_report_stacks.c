/* The stacks of a report: what loops save for other loops, and what of it could be recomputed. */
#include <math.h>
#include <stdlib.h>

#include "api/measure.h"
#include "emit/human.h"
#include "remat/scan/describe.h"
#include "remat/scan/open.h"

typedef struct Maker {
  const Module *module;
  Legality legality;
  ScanModule scans;
  double seconds; /* modelled, of the whole module */
  VEC(const rh_stacks *) list;
  Arena *out, *arena, *scratch;
} Maker;

static rh_text name_of(const Maker *maker, InstId id) {
  return text_of_str(human_utf8(inst_name(maker->module, id), maker->out));
}

static rh_text text_of_shape(const Maker *maker, ShapeId shape) {
  return text_of_str(shape_text(&maker->module->shapes, shape, false, maker->out));
}

static rh_text *names_of(const Maker *maker, const IdVec *ids) {
  rh_text *names = arena_array(maker->out, rh_text, ids->len);
  for (uint32_t i = 0; i < ids->len; i++)
    names[i] = name_of(maker, ids->data[i]);
  return names;
}

static int by_bytes(const void *pa, const void *pb) {
  const rh_stack *a = *(const rh_stack *const *)pa, *b = *(const rh_stack *const *)pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->element > b->element) - (a->element < b->element);
}

static void add_loop(Maker *maker, rh_stacks *stacks, const rh_stack **list, uint32_t count,
                     InstId place) {
  SourcePlace source = human_source_place(maker->module, place, maker->out);
  stacks->op_name = text_of_str(source.op_name);
  stacks->source_file = text_of_str(source.file);
  stacks->source_line = source.line > 0 ? source.line : 0;
  for (uint32_t i = 0; i < count; i++)
    stacks->bytes += list[i]->bytes;
  qsort(list, count, sizeof *list, by_bytes);
  stacks->stacks = list;
  stacks->num_stacks = count;
  *vec_push(maker->out, &maker->list) = stacks;
}

static rh_stack *new_stack(const Maker *maker, uint32_t element, ShapeId shape, InstId place) {
  SourcePlace source = human_source_place(maker->module, place, maker->out);
  int64_t bytes = target_sizes.of_part(maker->module, shape);
  rh_stack *stack = arena_alloc(maker->out, sizeof *stack);
  *stack = (rh_stack){.element = element,
                      .shape = text_of_shape(maker, shape),
                      .bytes = bytes > 0 ? bytes : 0,
                      .op_name = text_of_str(source.op_name),
                      .source_file = text_of_str(source.file),
                      .source_line = source.line > 0 ? source.line : 0};
  return stack;
}

static rh_text element_name(const Maker *maker, InstId loop, uint32_t element) {
  rh_text name = name_of(maker, loop);
  const char *text = arena_printf(maker->out, "%.*s#%u", (int)name.length, name.data, element);
  return (rh_text){text, strlen(text)};
}

/* ---- loops of known trip count ---- */

/* The figures of one choice, relative to storing everything as the module does. */
static void price(const Maker *maker, const ScanValues *values, const ScanChoice *choice,
                  int64_t *bytes, double *added) {
  ScanStep step = {0};
  double before = scan_choose_nothing(values, maker->arena).seconds;
  scan_describe(&maker->scans, values, choice, &step, maker->arena);
  *bytes = step.stored_bytes;
  *added = maker->seconds > 0 ? (choice->seconds - before) / maker->seconds : 0;
}

static void add_border(Maker *maker, const ScanValues *values) {
  const ScanModule *scans = &maker->scans;
  const Loop *loop = &scans->loops.list[values->loop];
  uint32_t first = scans->stacks.first_of[values->loop];
  uint32_t count = scans->stacks.first_of[values->loop + 1] - first;
  IdVec readers = scan_readers(scans, values->loop, maker->arena);
  if (readers.len == 0) return;
  rh_stacks *stacks = arena_zalloc(maker->out, sizeof *stacks);
  stacks->loop = name_of(maker, loop->id);
  stacks->num_iterations = loop->trips;
  stacks->readers = names_of(maker, &readers);
  stacks->num_readers = readers.len;
  ScanChoice least = scan_choose(values, INFINITY, NULL, maker->arena, maker->scratch);
  ScanChoice fast = scan_choose(values, 0, NULL, maker->arena, maker->scratch);
  price(maker, values, &least, &stacks->least_bytes, &stacks->least_added);
  price(maker, values, &fast, &stacks->fast_bytes, &stacks->fast_added);
  const rh_stack **list = arena_array(maker->out, const rh_stack *, count);
  ScanReason kept = {"none", "can be recomputed"};
  bool has_recomputed = false;
  for (uint32_t i = 0; i < count; i++) {
    const Stack *stack = &scans->stacks.list.data[first + i];
    rh_stack *made = new_stack(maker, stack->element, stack->shape,
                               scan_place_of_stack(scans, values, first + i));
    ScanReason reason = scan_reason(scans, values, &least, first + i);
    uint32_t value = values->of_stack[i];
    made->name = value == NO_ID
                     ? element_name(maker, loop->id, stack->element)
                     : text_of_str(human_utf8(scan_value_name(scans, values, value, maker->out),
                                              maker->out));
    made->reason = reason.name;
    made->explanation = reason.sentence;
    bool is_recomputed = strcmp(reason.name, "none") == 0;
    has_recomputed |= is_recomputed;
    if (i == 0 || is_recomputed) kept = reason;
    list[i] = made;
  }
  if (!has_recomputed) {
    stacks->least_bytes = stacks->fast_bytes = 0;
    stacks->least_added = stacks->fast_added = 0;
  }
  stacks->reason = kept.name;
  stacks->explanation = kept.sentence;
  add_loop(maker, stacks, list, count, scan_place_of_loop(scans, values));
}

static void add_borders(Maker *maker) {
  const ScanModule *scans = &maker->scans;
  for (uint32_t i = 0; i < scans->loops.len; i++) {
    if (scans->stacks.first_of[i] == scans->stacks.first_of[i + 1]) continue;
    ScanValues values = scan_values_find(&scans->context, i, maker->arena, maker->scratch);
    add_border(maker, &values);
  }
}

/* ---- other loops ---- */

/* The dynamic-update-slice that writes into an element of a loop's state, which may be within a
 * fusion; NO_ID = the next value of the element is something else. */
static InstId slice_write(const Module *module, InstId next, InstId param, uint32_t element) {
  for (InstId from; (from = copied_operand(module, next)) != NO_ID;)
    next = from;
  InstId inner = next, caller = next;
  if (inst_get(module, next)->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    caller = inst_operand(module, next, 0);
    if (inst_get(module, caller)->opcode != OPCODE_FUSION) return NO_ID;
  }
  if (inst_get(module, caller)->opcode == OPCODE_FUSION) {
    inner = comp_get(module, inst_callees(module, caller)[0])->root;
    if (inst_get(module, inner)->opcode == OPCODE_TUPLE && caller != next)
      inner = inst_operand(module, inner, (uint32_t)inst_get(module, next)->index);
  }
  if (inst_get(module, inner)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) return NO_ID;
  InstId array = inst_operand(module, inner, 0);
  if (inner != next) {
    if (inst_get(module, array)->opcode != OPCODE_PARAMETER) return NO_ID;
    array = inst_operand(module, caller, (uint32_t)inst_get(module, array)->index);
  }
  for (InstId from; (from = copied_operand(module, array)) != NO_ID;)
    array = from;
  bool is_element = inst_get(module, array)->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                    inst_get(module, array)->index == element &&
                    inst_operand(module, array, 0) == param;
  return is_element ? inner : NO_ID;
}

/* The while in whose initial state an element of a while's result is; NO_ID = none. */
static InstId next_loop(const Maker *maker, InstId loop, uint32_t element) {
  const Module *module = maker->module;
  ArenaMark mark = arena_mark(maker->scratch);
  IdVec work = {0};
  InstId found = NO_ID;
  for (uint32_t i = 0; i < inst_get(module, loop)->users.len; i++) {
    InstId user = inst_users(module, loop)[i];
    bool is_element = inst_get(module, user)->opcode == OPCODE_GET_TUPLE_ELEMENT &&
                      inst_get(module, user)->index == element;
    if (is_element) *vec_push(maker->scratch, &work) = user;
  }
  while (work.len && found == NO_ID) {
    InstId id = work.data[--work.len];
    for (uint32_t i = 0; i < inst_get(module, id)->users.len; i++) {
      InstId user = inst_users(module, id)[i];
      Opcode opcode = (Opcode)inst_get(module, user)->opcode;
      if (opcode == OPCODE_WHILE && user != loop) found = user;
      if (opcode == OPCODE_TUPLE || copied_operand(module, user) == id)
        *vec_push(maker->scratch, &work) = user;
    }
  }
  arena_reset(maker->scratch, mark);
  return found;
}

/* A while of which too little is known, and that writes slices for other loops all the same. */
static void add_unknown(Maker *maker, InstId id) {
  const Module *module = maker->module;
  const Computation *body = comp_get(module, inst_callees(module, id)[0]);
  if (inst_get(module, body->root)->opcode != OPCODE_TUPLE || body->params.len != 1) return;
  InstId param = id_list(module, body->params)[0];
  uint32_t rank = inst_shape(module, id)->rank, count = 0;
  const rh_stack **list = arena_array(maker->out, const rh_stack *, rank);
  IdVec readers = {0};
  ScanReason reason = scan_reason_of_while(module, id);
  for (uint32_t e = 0; e < rank; e++) {
    InstId write = slice_write(module, inst_operand(module, body->root, e), param, e);
    InstId reader = write == NO_ID ? NO_ID : next_loop(maker, id, e);
    if (reader == NO_ID) continue;
    rh_stack *stack = new_stack(maker, e, inst_shape(module, id)->elements[e], write);
    stack->name = element_name(maker, id, e);
    stack->reason = reason.name;
    stack->explanation = reason.sentence;
    list[count++] = stack;
    bool is_new = true;
    for (uint32_t i = 0; i < readers.len; i++)
      is_new &= readers.data[i] != reader;
    if (is_new) *vec_push(maker->arena, &readers) = reader;
  }
  if (count == 0) return;
  int64_t trips = while_trip_count(module, id);
  rh_stacks *stacks = arena_zalloc(maker->out, sizeof *stacks);
  *stacks = (rh_stacks){.loop = name_of(maker, id),
                        .num_iterations = trips < 0 ? -1 : trips,
                        .readers = names_of(maker, &readers),
                        .num_readers = readers.len,
                        .reason = reason.name,
                        .explanation = reason.sentence};
  add_loop(maker, stacks, list, count, id);
}

static void add_unknowns(Maker *maker) {
  const Module *module = maker->module;
  const CallGraph *graph = &maker->scans.graph;
  for (uint32_t c = 0; c < graph->num_reachable; c++) {
    CompId comp = graph->post_order[c];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      const Instruction *inst = inst_get(module, id);
      bool is_while = inst->opcode == OPCODE_WHILE && inst->num_callees == 2;
      if (!is_while || !shape_is_tuple(inst_shape(module, id))) continue;
      bool is_known = maker->scans.loops.len && maker->scans.loops.of[id] != NO_ID;
      if (!is_known) add_unknown(maker, id);
    }
  }
}

/* ---- all ---- */

static int by_size(const void *pa, const void *pb) {
  const rh_stacks *a = *(const rh_stacks *const *)pa, *b = *(const rh_stacks *const *)pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  size_t length = a->loop.length < b->loop.length ? a->loop.length : b->loop.length;
  int order = memcmp(a->loop.data, b->loop.data, length);
  if (order != 0) return order;
  return (a->loop.length > b->loop.length) - (a->loop.length < b->loop.length);
}

static bool has_loops(const Module *module) {
  uint32_t count = 0;
  for (InstId id = 0; id < module->insts.len; id++)
    count += inst_get(module, id)->opcode == OPCODE_WHILE;
  return count > 1;
}

void report_stacks(const rh_module *handle, rh_report *report, Arena *out, Arena *scratch) {
  if (!has_loops(handle->module)) return;
  const Module *module = scan_opened(handle->module, out, scratch);
  Arena *arena = arena_new(arena_options(scratch));
  DeviceProfile device = device_profile_default();
  CostTable costs = cost_analyze(module, arena, scratch);
  bool *is_kept = arena_zarray(arena, bool, module->insts.len);
  Maker maker = {.module = module,
                 .legality = {.module = module,
                              .effects = side_effects_build(module, arena, scratch),
                              .is_kept = is_kept,
                              .num_kept = module->insts.len},
                 .seconds = cost_total_weighted(module, &costs, &device, 1, scratch).seconds,
                 .out = out,
                 .arena = arena,
                 .scratch = scratch};
  scan_analyze(&maker.scans, module, &maker.legality, &costs, &device, 1, arena, scratch);
  add_borders(&maker);
  add_unknowns(&maker);
  if (maker.list.len) qsort(maker.list.data, maker.list.len, sizeof *maker.list.data, by_size);
  report->stacks = maker.list.data;
  report->num_stacks = maker.list.len;
  arena_free(arena);
}
