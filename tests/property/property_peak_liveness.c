/* The peak of the model `liveness` (HeapSimulator::MinimumMemoryForModule), simulated again from
 * the definitions: values, the buffers that some must share, their live ranges, and a heap without
 * fragmentation. A restricted form: the entry alone, so no loops, conditionals or calls; values
 * that merge there are held against XLA's own figures by the corpus tests. O(values *
 * instructions). */
#include <inttypes.h>
#include <stdlib.h>

#include "buffers.h"
#include "property.h"

typedef struct Value {
  Place place;
  int64_t bytes;       /* of the largest value in its buffer */
  uint32_t buffer;     /* values of one buffer have the same number */
  uint32_t id;         /* in the order of the post order */
  uint32_t start, end; /* inclusive */
  bool is_freed;
} Value;

typedef struct Judge {
  const Module *module;
  Sequence sequence;
  uint32_t *time, *order; /* by InstId: in the sequence, in the post order */
  Value *values;
  uint32_t num_values;
} Judge;

static Opcode opcode_of(const Judge *judge, InstId id) {
  return (Opcode)inst_get(judge->module, id)->opcode;
}

static Value *value_at(const Judge *judge, Place place) {
  place = place_source(judge->module, place);
  for (uint32_t i = 0; i < judge->num_values; i++) {
    if (place_equal(judge->values[i].place, place)) return &judge->values[i];
  }
  ck_abort_msg("a value is missing");
  return NULL;
}

/* ---- values ---- */

static void visit_post_order(const Judge *judge, InstId id, uint32_t *next) {
  if (judge->order[id] != NO_ID) return;
  IdList before = inst_control(judge->module, id)->predecessors;
  for (uint32_t i = before.len; i-- > 0;) {
    visit_post_order(judge, id_list(judge->module, before)[i], next);
  }
  for (uint32_t i = 0; i < inst_get(judge->module, id)->num_operands; i++) {
    visit_post_order(judge, inst_operand(judge->module, id, i), next);
  }
  judge->order[id] = (*next)++;
}

static int by_order(const void *pa, const void *pb) {
  const Value *a = pa, *b = pb;
  if (a->id != b->id) return a->id < b->id ? -1 : 1;
  return (a->place.part > b->place.part) - (a->place.part < b->place.part);
}

static void find_values(Judge *judge) {
  const Module *module = judge->module;
  uint32_t next = 0, room = 0;
  for (uint32_t i = 0; i < judge->sequence.len; i++) {
    room += inst_shape(module, judge->sequence.ids[i])->num_parts;
    judge->time[judge->sequence.ids[i]] = i;
  }
  for (uint32_t i = 0; i < comp_num_insts(module, module->entry); i++) {
    InstId id = comp_inst(module, module->entry, i);
    if (inst_get(module, id)->users.len == 0) visit_post_order(judge, id, &next);
  }
  judge->values = calloc(room + 1, sizeof *judge->values);
  for (uint32_t i = 0; i < judge->sequence.len; i++) {
    InstId id = judge->sequence.ids[i];
    for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
      Place place = {id, part};
      if (!place_equal(place_source(module, place), place)) continue;
      judge->values[judge->num_values++] =
          (Value){.place = place, .bytes = place_bytes(module, place), .id = judge->order[id]};
    }
  }
  qsort(judge->values, judge->num_values, sizeof *judge->values, by_order);
  for (uint32_t i = 0; i < judge->num_values; i++) {
    judge->values[i].id = judge->values[i].buffer = i;
  }
}

/* ---- buffers ---- */

static void share(Judge *judge, Place a, Place b) {
  uint32_t from = value_at(judge, a)->buffer, to = value_at(judge, b)->buffer;
  for (uint32_t i = 0; i < judge->num_values; i++) {
    if (judge->values[i].buffer == from) judge->values[i].buffer = to;
  }
}

/* Backwards through tuples, then get-tuple-elements, then bitcasts. */
static Place trace(const Module *module, Place place) {
  while (inst_get(module, place.inst)->opcode == OPCODE_TUPLE && place.part != 0) {
    uint32_t element = inst_get(module, place.inst)->num_operands - 1;
    while (element_part(module, place.inst, element) > place.part)
      element--;
    place.part -= element_part(module, place.inst, element);
    place.inst = inst_operand(module, place.inst, element);
  }
  while (inst_get(module, place.inst)->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId tuple = inst_operand(module, place.inst, 0);
    place.part += element_part(module, tuple, inst_get(module, place.inst)->index);
    place.inst = tuple;
  }
  while (place.part == 0 && inst_get(module, place.inst)->opcode == OPCODE_BITCAST) {
    place.inst = inst_operand(module, place.inst, 0);
  }
  return place;
}

/* What a fusion writes over a parameter: a dynamic-update-slice inside does. */
static void share_in_fusion(Judge *judge, InstId fusion) {
  const Module *module = judge->module;
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  for (uint32_t part = 0; part < inst_shape(module, fusion)->num_parts; part++) {
    Place output = trace(module, (Place){root, part});
    if (output.part != 0 || opcode_of(judge, output.inst) != OPCODE_DYNAMIC_UPDATE_SLICE) continue;
    if (shape_is_tuple(shape_get(&module->shapes, place_shape(module, (Place){fusion, part})))) {
      continue;
    }
    Place source = trace(module, (Place){inst_operand(module, output.inst, 0), 0});
    if (opcode_of(judge, source.inst) != OPCODE_PARAMETER) continue;
    InstId operand = inst_operand(module, fusion, (uint32_t)inst_get(module, source.inst)->index);
    share(judge, (Place){fusion, part}, (Place){operand, source.part});
  }
}

static InstId entry_param(const Module *module, int64_t number) {
  return id_list(module, comp_get(module, module->entry)->params)[number];
}

static void find_buffers(Judge *judge) {
  const Module *module = judge->module;
  for (uint32_t i = 0; i < judge->sequence.len; i++) {
    InstId id = judge->sequence.ids[i];
    if (opcode_of(judge, id) == OPCODE_FUSION) share_in_fusion(judge, id);
    if (opcode_of(judge, id) != OPCODE_DYNAMIC_UPDATE_SLICE) continue;
    share(judge, (Place){id, 0}, (Place){inst_operand(module, id, 0), 0});
  }
  InstId root = comp_get(module, module->entry)->root;
  for (uint32_t i = 0; i < module->source->header.aliases.len; i++) {
    const OutputAlias *alias = &module->source->header.aliases.data[i];
    share(judge, (Place){root, alias->output_part},
          (Place){entry_param(module, alias->param), alias->param_part});
  }
  for (uint32_t i = 0; i < judge->num_values; i++) {
    for (uint32_t k = 0; k < judge->num_values; k++) {
      Value *a = &judge->values[i], *b = &judge->values[k];
      if (a->buffer == b->buffer && b->bytes > a->bytes) a->bytes = b->bytes;
    }
  }
}

static bool is_alone(const Judge *judge, const Value *value) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < judge->num_values; i++) {
    count += judge->values[i].buffer == value->buffer;
  }
  return count == 1;
}

/* ---- live ranges ---- */

static void extend(Value *value, uint32_t time) {
  if (value->end < time) value->end = time;
}

static bool is_aliased_param(const Module *module, InstId id) {
  for (uint32_t i = 0; i < module->source->header.aliases.len; i++) {
    int64_t number = module->source->header.aliases.data[i].param;
    if (number == inst_get(module, id)->index) return true;
  }
  return false;
}

static void find_ends(Judge *judge, InstId id, uint32_t time) {
  const Module *module = judge->module;
  uint32_t end = judge->sequence.len;
  bool is_root = id == comp_get(module, module->entry)->root;
  bool is_param = opcode_of(judge, id) == OPCODE_PARAMETER;
  for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
    Value *value = value_at(judge, (Place){id, part});
    extend(value, is_root || (is_param && !is_aliased_param(module, id)) ? end : time);
  }
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    Opcode opcode = opcode_of(judge, id);
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      bool only_top = opcode == OPCODE_GET_TUPLE_ELEMENT || opcode == OPCODE_COPY;
      if (opcode == OPCODE_TUPLE || (only_top && part != 0)) continue;
      extend(value_at(judge, (Place){operand, part}), time);
    }
  }
}

static int by_range(const void *pa, const void *pb) {
  const Value *a = pa, *b = pb;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

/* In one buffer a value ends where the next one starts. `values` are sorted by range. */
static void hand_over(Judge *judge) {
  for (uint32_t i = 0; i < judge->num_values; i++) {
    Value *value = &judge->values[i];
    uint32_t k = i + 1;
    while (k < judge->num_values && judge->values[k].buffer != value->buffer)
      k++;
    if (k == judge->num_values) continue;
    extend(&judge->values[k], value->end);
    if (value->end > judge->values[k].start) value->end = judge->values[k].start;
  }
}

static void find_ranges(Judge *judge) {
  for (uint32_t i = 0; i < judge->num_values; i++) {
    Value *value = &judge->values[i];
    bool is_param = opcode_of(judge, value->place.inst) == OPCODE_PARAMETER;
    value->start = is_param ? 0 : judge->time[value->place.inst];
  }
  for (uint32_t time = 0; time < judge->sequence.len; time++) {
    find_ends(judge, judge->sequence.ids[time], time);
  }
  qsort(judge->values, judge->num_values, sizeof *judge->values, by_range);
  hand_over(judge);
  qsort(judge->values, judge->num_values, sizeof *judge->values, by_range);
}

/* ---- the heap ---- */

static bool is_elementwise(Opcode opcode) {
  switch (opcode) {
    case OPCODE_NEGATE:
    case OPCODE_EXPONENTIAL:
    case OPCODE_TANH:
    case OPCODE_ABS:
    case OPCODE_LOG:
    case OPCODE_SQRT:
    case OPCODE_COSINE:
    case OPCODE_COPY:
    case OPCODE_FLOOR:
    case OPCODE_ADD:
    case OPCODE_MULTIPLY:
    case OPCODE_SUBTRACT:
    case OPCODE_DIVIDE:
    case OPCODE_AND:
    case OPCODE_REMAINDER:
    case OPCODE_MINIMUM:
    case OPCODE_MAXIMUM:
    case OPCODE_SELECT:
    case OPCODE_COMPARE:
    case OPCODE_CONVERT:
    case OPCODE_NOT: return true;
    default: return false;
  }
}

static bool is_elementwise_on(const Judge *judge, InstId id, InstId operand) {
  if (opcode_of(judge, id) != OPCODE_DYNAMIC_UPDATE_SLICE) {
    return is_elementwise(opcode_of(judge, id));
  }
  return inst_operand(judge->module, id, 0) == operand &&
         inst_operand(judge->module, id, 1) != operand;
}

/* Everything that a fused parameter reaches is elementwise on what it reads, or a tuple if it may
 * be one. */
static bool reaches_elementwise(const Judge *judge, InstId id, bool allows_tuples) {
  const Module *module = judge->module;
  CompId comp = inst_get(module, id)->parent;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId user = comp_inst(module, comp, i);
    if (!has_operand(module, user, id)) continue;
    bool is_tuple = allows_tuples && opcode_of(judge, user) == OPCODE_TUPLE;
    if (!is_tuple && !is_elementwise_on(judge, user, id)) return false;
    if (!reaches_elementwise(judge, user, allows_tuples)) return false;
  }
  return true;
}

/* An output fusion adds the parameter to a product. */
static bool is_added_to_product(const Judge *judge, InstId param, InstId root) {
  const Module *module = judge->module;
  for (uint32_t i = 0; i < 2; i++) {
    if (opcode_of(judge, inst_operand(module, root, i)) != OPCODE_DOT) continue;
    return inst_operand(module, root, 1 - i) == param && inst_get(module, param)->users.len == 1;
  }
  return false;
}

static bool can_share(const Judge *judge, const Value *operand, const Value *value) {
  const Module *module = judge->module;
  InstId id = value->place.inst, read = operand->place.inst;
  if (opcode_of(judge, read) == OPCODE_CONSTANT) return false;
  if (place_shape(module, operand->place) != place_shape(module, value->place)) return false;
  if (opcode_of(judge, id) != OPCODE_FUSION) return is_elementwise_on(judge, id, read);
  uint32_t index = 0;
  while (inst_operand(module, id, index) != read)
    index++;
  CompId comp = inst_callees(module, id)[0];
  InstId param = id_list(module, comp_get(module, comp)->params)[index];
  InstId root = comp_get(module, comp)->root;
  Str kind = inst_attr_text(module, id, ATTR_FUSION_KIND);
  if (str_is(kind, "kOutput") && opcode_of(judge, root) == OPCODE_ADD) {
    return is_added_to_product(judge, param, root);
  }
  bool allows_tuples = str_is(kind, "kLoop") || str_is(kind, "kInput");
  return reaches_elementwise(judge, param, allows_tuples);
}

/* Frees the operand that the value takes the place of. */
static int64_t reuse(const Judge *judge, const Value *value, uint32_t time) {
  InstId id = value->place.inst;
  if (opcode_of(judge, id) == OPCODE_COPY || !is_alone(judge, value)) return 0;
  for (uint32_t i = 0; i < inst_get(judge->module, id)->num_operands; i++) {
    Value *operand = value_at(judge, (Place){inst_operand(judge->module, id, i), 0});
    if (operand->end != time || operand->is_freed || !is_alone(judge, operand)) continue;
    if (!has_operand(judge->module, id, operand->place.inst)) continue;
    if (!can_share(judge, operand, value)) continue;
    operand->is_freed = true;
    return operand->bytes;
  }
  return 0;
}

static int64_t simulate(const Judge *judge) {
  int64_t live = 0, peak = 0;
  for (uint32_t time = 0; time <= judge->sequence.len; time++) {
    for (uint32_t i = 0; i < judge->num_values; i++) {
      const Value *value = &judge->values[i];
      bool is_constant = opcode_of(judge, value->place.inst) == OPCODE_CONSTANT;
      if (value->start != time || is_constant) continue;
      live += value->bytes - reuse(judge, value, time);
      if (live > peak) peak = live;
    }
    for (uint32_t i = 0; i < judge->num_values; i++) {
      Value *value = &judge->values[i];
      bool is_constant = opcode_of(judge, value->place.inst) == OPCODE_CONSTANT;
      if (value->end != time || value->is_freed || is_constant) continue;
      value->is_freed = true;
      live -= value->bytes;
    }
  }
  return peak;
}

START_TEST(peaks_are_simulated) {
  unsigned allowed = GENERATE_TUPLES | GENERATE_COMPACT | GENERATE_FUSIONS | GENERATE_EFFECTS |
                     GENERATE_CONTROL | GENERATE_IN_PLACE | GENERATE_ODD_TEXT;
  Sample sample = sample_make((uint64_t)_i, 200, allowed);
  static const char *const schedulers[] = {"list", "dfs", "bfs", "postorder"};
  rh_module *scheduled = schedule_sample(&sample, schedulers[_i % 4]);
  const Module *module = scheduled->module;
  size_t size = (module->insts.len + 1) * sizeof(uint32_t);
  Judge judge = {.module = module,
                 .sequence = scheduled->schedule.of[module->entry],
                 .time = calloc(1, size),
                 .order = memset(malloc(size), 0xff, size)};
  find_values(&judge);
  find_buffers(&judge);
  find_ranges(&judge);
  int64_t wanted = simulate(&judge);
  rh_memory memory = RH_MEMORY_INIT;
  ck_assert_int_eq(rh_measure_memory(scheduled, NULL, "liveness", &memory, NULL), RH_OK);
  ck_assert_msg(memory.peak_bytes == wanted, "%" PRId64 " bytes, not %" PRId64 "\n%s",
                memory.peak_bytes, wanted, sample_shown(&sample));
  int64_t twice = memory.peak_bytes;
  ck_assert_int_eq(rh_measure_memory(scheduled, NULL, "liveness-once", &memory, NULL), RH_OK);
  ck_assert_int_le(memory.peak_bytes, twice);
  free(judge.values);
  free(judge.time);
  free(judge.order);
  rh_module_free(scheduled);
  sample_free(&sample);
}
END_TEST

int main(void) {
  return run_property("peak_liveness", peaks_are_simulated, 1500);
}
