#include "evaluate.h"

#include <stdlib.h>

#include "interpret.h"

enum { MAX_ITERATIONS = 40, MAX_RANK = 8, MAX_STEPS = 200000 };

/* An array, or a tuple. */
typedef struct Value {
  int64_t *elements;
  struct Value **parts;
  int64_t count; /* of elements, or of parts */
} Value;

typedef struct Run {
  const Module *module;
  Arena *arena;
  uint64_t effects;
  uint32_t steps;
  uint32_t num_clamped;
  bool is_known;
} Run;

static uint64_t mix(uint64_t hash, uint64_t value) {
  return hash_mix(hash, value);
}

static bool is_integer(const Shape *shape) {
  uint8_t class = type_info((ElementType)shape->type)->class;
  return class == TYPE_CLASS_SINT || class == TYPE_CLASS_UINT;
}

/* What the type makes of a number. */
static int64_t wrap(const Shape *shape, int64_t value) {
  const TypeInfo *info = type_info((ElementType)shape->type);
  if (info->class == TYPE_CLASS_PRED) return value & 1;
  if (!is_integer(shape) || info->bits >= 64) return value;
  uint64_t mask = (UINT64_C(1) << info->bits) - 1, bits = (uint64_t)value & mask;
  bool is_negative = info->class == TYPE_CLASS_SINT && bits >> (info->bits - 1);
  return (int64_t)(is_negative ? bits | ~mask : bits);
}

static Value *new_array(Run *run, const Shape *shape) {
  Value *value = arena_zalloc(run->arena, sizeof *value);
  value->elements = arena_zarray(run->arena, int64_t, (size_t)shape->num_elements);
  value->count = shape->num_elements;
  return value;
}

static Value *made_up(Run *run, ShapeId id, uint64_t seed) {
  const Shape *shape = shape_get(&run->module->shapes, id);
  if (!shape_is_tuple(shape)) {
    Value *value = new_array(run, shape);
    for (int64_t i = 0; i < shape->num_elements; i++)
      value->elements[i] = wrap(shape, (int64_t)mix(seed, (uint64_t)i));
    return value;
  }
  Value *value = arena_zalloc(run->arena, sizeof *value);
  value->parts = arena_array(run->arena, Value *, shape->rank);
  value->count = shape->rank;
  for (uint32_t i = 0; i < shape->rank; i++)
    value->parts[i] = made_up(run, shape->elements[i], mix(seed, i));
  return value;
}

/* Whether the value has the shape: mutants have instructions that disagree about theirs. */
static bool has_shape(const Run *run, ShapeId id, const Value *value) {
  const Shape *shape = shape_get(&run->module->shapes, id);
  bool is_tuple = shape_is_tuple(shape);
  if (is_tuple != (value->parts != NULL)) return false;
  if (value->count != (is_tuple ? (int64_t)shape->rank : shape->num_elements)) return false;
  for (uint32_t i = 0; is_tuple && i < shape->rank; i++) {
    if (!has_shape(run, shape->elements[i], value->parts[i])) return false;
  }
  return true;
}

static uint64_t hash_value(const Run *run, ShapeId id, const Value *value, uint64_t hash) {
  const Shape *shape = shape_get(&run->module->shapes, id);
  if (!shape_is_tuple(shape)) {
    for (int64_t i = 0; i < shape->num_elements; i++)
      hash = mix(hash, (uint64_t)value->elements[i]);
    return hash;
  }
  for (uint32_t i = 0; i < shape->rank; i++)
    hash = hash_value(run, shape->elements[i], value->parts[i], hash);
  return hash;
}

/* ---- places in arrays ---- */

static void place_of(const Shape *shape, int64_t index, int64_t *place) {
  for (uint32_t i = shape->rank; i-- > 0;) {
    place[i] = index % shape->dims[i];
    index /= shape->dims[i];
  }
}

static int64_t index_of(const Shape *shape, const int64_t *place) {
  int64_t index = 0;
  for (uint32_t i = 0; i < shape->rank; i++)
    index = index * shape->dims[i] + place[i];
  return index;
}

static void clamp_starts(Run *run, const Shape *whole, const Shape *part, Value *const *starts,
                         int64_t *place) {
  for (uint32_t i = 0; i < whole->rank; i++) {
    int64_t last = whole->dims[i] - part->dims[i], start = starts[i]->elements[0];
    place[i] = start < 0 ? 0 : start > last ? last : start;
    run->num_clamped += last > 0 && place[i] != start;
  }
}

/* ---- operations ---- */

static Value *constant(Run *run, InstId id) {
  const Module *module = run->module;
  const InstSource *source = &module->source->insts.data[id];
  Str text = module_span(module, (Span){source->paren + 1, source->close});
  const Shape *shape = inst_shape(module, id);
  Value *value = new_array(run, shape);
  char digits[64] = {0};
  if (text.len >= sizeof digits || shape->num_elements != 1) {
    run->is_known = false;
    return value;
  }
  while (text.len && *text.data == '{') { /* an array of one element */
    text.data++;
    text.len--;
  }
  memcpy(digits, text.data, text.len);
  if (is_integer(shape)) {
    value->elements[0] = wrap(shape, strtoll(digits, NULL, 10));
  } else if (shape->type == TYPE_PRED) {
    value->elements[0] = str_is(text, "true");
  } else {
    value->elements[0] = (int64_t)hash_str(text);
  }
  return value;
}

static bool compare_numbers(int64_t direction, int64_t a, int64_t b) {
  switch (direction) {
    case DIRECTION_EQ: return a == b;
    case DIRECTION_NE: return a != b;
    case DIRECTION_LT: return a < b;
    case DIRECTION_LE: return a <= b;
    case DIRECTION_GT: return a > b;
    default: return a >= b;
  }
}

static int64_t combine(const Run *run, InstId id, const int64_t *args, uint32_t count) {
  const Module *module = run->module;
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  bool is_number = is_integer(inst_shape(module, id));
  uint64_t a = (uint64_t)args[0], b = count > 1 ? (uint64_t)args[1] : 0;
  switch (opcode) {
    case OPCODE_ADD: return (int64_t)(a + b);
    case OPCODE_SUBTRACT: return (int64_t)(a - b);
    case OPCODE_MULTIPLY: return (int64_t)(a * b);
    case OPCODE_COMPARE:
      return compare_numbers(inst_attr_int(module, id, ATTR_DIRECTION, DIRECTION_LT), args[0],
                             args[1]);
    case OPCODE_SELECT: return args[0] ? args[1] : args[2];
    case OPCODE_COPY:
    case OPCODE_CONVERT:
      if (is_number && is_integer(inst_shape(module, inst_operand(module, id, 0)))) return args[0];
      break;
    case OPCODE_NEGATE:
      if (is_number) return (int64_t)(0 - a);
      break;
    case OPCODE_DIVIDE:
      if (is_number && args[1] > 0) return args[0] / args[1];
      break;
    case OPCODE_MAXIMUM:
      if (is_number) return args[0] > args[1] ? args[0] : args[1];
      break;
    case OPCODE_MINIMUM:
      if (is_number) return args[0] < args[1] ? args[0] : args[1];
      break;
    case OPCODE_CLAMP:
      if (is_number) {
        int64_t above = args[1] > args[0] ? args[1] : args[0];
        return above < args[2] ? above : args[2];
      }
      break;
    default: break;
  }
  uint64_t hash = opcode;
  for (uint32_t i = 0; i < count; i++)
    hash = mix(hash, (uint64_t)args[i]);
  return (int64_t)hash;
}

static Value *elementwise(Run *run, InstId id, Value *const *operands) {
  const Instruction *inst = inst_get(run->module, id);
  const Shape *shape = inst_shape(run->module, id);
  Value *value = new_array(run, shape);
  for (int64_t i = 0; i < shape->num_elements; i++) {
    int64_t args[3] = {0};
    for (uint32_t k = 0; k < inst->num_operands && k < 3; k++) {
      const Shape *operand = inst_shape(run->module, inst_operand(run->module, id, k));
      bool is_scalar = operand->num_elements == 1;
      run->is_known &= is_scalar || operand->num_elements == shape->num_elements;
      if (run->is_known) args[k] = operands[k]->elements[is_scalar ? 0 : i];
    }
    value->elements[i] = wrap(shape, combine(run, id, args, inst->num_operands));
  }
  return value;
}

static Value *broadcast(Run *run, InstId id, const Value *operand) {
  const Module *module = run->module;
  const Shape *shape = inst_shape(module, id),
              *from = inst_shape(module, inst_operand(module, id, 0));
  IntSlice dimensions = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  Value *value = new_array(run, shape);
  int64_t place[MAX_RANK], source[MAX_RANK];
  for (int64_t i = 0; i < shape->num_elements; i++) {
    place_of(shape, i, place);
    for (uint32_t k = 0; k < dimensions.len; k++)
      source[k] = place[dimensions.data[k]];
    value->elements[i] = operand->elements[index_of(from, source)];
  }
  return value;
}

static Value *slice(Run *run, InstId id, Value *const *operands) {
  const Module *module = run->module;
  const Shape *part = inst_shape(module, id),
              *whole = inst_shape(module, inst_operand(module, id, 0));
  Value *value = new_array(run, part);
  int64_t place[MAX_RANK];
  IntSlice ranges = inst_attr_ints(module, id, ATTR_SLICE); /* start, limit, stride */
  run->is_known &= part->rank == whole->rank && ranges.len == 3 * part->rank;
  for (uint32_t k = 0; run->is_known && k < part->rank; k++) {
    int64_t last = ranges.data[3 * k] + (part->dims[k] - 1) * ranges.data[3 * k + 2];
    run->is_known = last < whole->dims[k];
  }
  for (int64_t i = 0; run->is_known && i < part->num_elements; i++) {
    place_of(part, i, place);
    for (uint32_t k = 0; k < part->rank; k++) {
      place[k] = ranges.data[3 * k] + place[k] * ranges.data[3 * k + 2];
    }
    value->elements[i] = operands[0]->elements[index_of(whole, place)];
  }
  return value;
}

static Value *dynamic_slice(Run *run, InstId id, Value *const *operands) {
  const Module *module = run->module;
  const Shape *part = inst_shape(module, id),
              *whole = inst_shape(module, inst_operand(module, id, 0));
  Value *value = new_array(run, part);
  int64_t start[MAX_RANK], place[MAX_RANK];
  clamp_starts(run, whole, part, operands + 1, start);
  for (int64_t i = 0; i < part->num_elements; i++) {
    place_of(part, i, place);
    for (uint32_t k = 0; k < part->rank; k++)
      place[k] += start[k];
    value->elements[i] = operands[0]->elements[index_of(whole, place)];
  }
  return value;
}

static Value *update_slice(Run *run, InstId id, Value *const *operands) {
  const Module *module = run->module;
  const Shape *whole = inst_shape(module, id),
              *part = inst_shape(module, inst_operand(module, id, 1));
  Value *value = new_array(run, whole);
  memcpy(value->elements, operands[0]->elements,
         (size_t)whole->num_elements * sizeof *value->elements);
  int64_t start[MAX_RANK], place[MAX_RANK];
  clamp_starts(run, whole, part, operands + 2, start);
  for (int64_t i = 0; i < part->num_elements; i++) {
    place_of(part, i, place);
    for (uint32_t k = 0; k < part->rank; k++)
      place[k] += start[k];
    value->elements[index_of(whole, place)] = operands[1]->elements[i];
  }
  return value;
}

static Value *run_comp(Run *run, CompId comp, Value *const *args);

static bool has_effect(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_RNG || inst->flags & INST_CALL_SIDE_EFFECT ||
         opcode_has((Opcode)inst->opcode, OPF_SIDE_EFFECT);
}

/* A computation as a function: what it makes of made-up arguments. */
static uint64_t hash_function(Run *run, CompId comp, uint64_t hash) {
  const Module *module = run->module;
  IdList params = comp_get(module, comp)->params;
  Value **args = arena_array(run->arena, Value *, params.len);
  for (uint32_t i = 0; i < params.len; i++) {
    args[i] = made_up(run, inst_get(module, id_list(module, params)[i])->shape, i);
  }
  const Value *result = run_comp(run, comp, args);
  return hash_value(run, inst_get(module, comp_get(module, comp)->root)->shape, result, hash);
}

/* What is not told: any function of the attributes, the operands and the computations called. */
static Value *some_function(Run *run, InstId id, Value *const *operands) {
  const Module *module = run->module;
  const Instruction *inst = inst_get(module, id);
  uint64_t hash = inst->opcode;
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (!attr_tells_value(attr)) continue;
    hash = mix(hash, hash_str(module_span(module, attr->text)));
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    hash = hash_value(run, inst_get(module, operand)->shape, operands[i], hash);
  }
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    hash = hash_function(run, inst_callees(module, id)[i], hash);
  }
  if (has_effect(module, id)) run->effects = mix(run->effects, hash);
  return made_up(run, inst->shape, hash);
}

static Value *run_loop(Run *run, InstId id, Value *const *operands) {
  const CompId *callees = inst_callees(run->module, id); /* ORDER body, condition */
  Value *state = operands[0];
  for (int i = 0; run->is_known && run_comp(run, callees[1], &state)->elements[0]; i++) {
    if (i == MAX_ITERATIONS) return some_function(run, id, operands);
    state = run_comp(run, callees[0], &state);
  }
  return state;
}

static Value *run_branch(Run *run, InstId id, Value *const *operands) {
  uint32_t count = inst_get(run->module, id)->num_callees;
  int64_t index = operands[0]->elements[0];
  bool is_pred = inst_shape(run->module, inst_operand(run->module, id, 0))->type == TYPE_PRED;
  uint32_t branch = is_pred ? !index : index < 0 || index >= count ? count - 1 : (uint32_t)index;
  return run_comp(run, inst_callees(run->module, id)[branch], operands + 1 + branch);
}

static Value *run_inst(Run *run, InstId id, Value *const *values, Value *const *args) {
  const Module *module = run->module;
  const Instruction *inst = inst_get(module, id);
  Value **operands = arena_array(run->arena, Value *, inst->num_operands);
  for (uint32_t i = 0; i < inst->num_operands; i++)
    operands[i] = values[inst_operand(module, id, i)];
  if (inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE) {
    run->is_known &= inst->shape == inst_get(module, inst_operand(module, id, 0))->shape;
  }
  if (inst->opcode == OPCODE_DYNAMIC_SLICE || inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE) {
    uint32_t part = inst->opcode == OPCODE_DYNAMIC_SLICE ? 0 : 1;
    uint32_t rank = inst_shape(module, inst_operand(module, id, part))->rank;
    run->is_known &= inst_shape(module, id)->rank == rank && inst->num_operands == part + 1 + rank;
  }
  if (!run->is_known) return made_up(run, inst->shape, 0);
  const Shape *shape = inst_shape(module, id);
  run->is_known &= shape->rank <= MAX_RANK || shape_is_tuple(shape);
  switch (inst->opcode) {
    case OPCODE_PARAMETER: return args[inst->index];
    case OPCODE_CONSTANT: return constant(run, id);
    case OPCODE_TUPLE: {
      Value *value = arena_zalloc(run->arena, sizeof *value);
      value->parts = operands;
      value->count = inst->num_operands;
      return value;
    }
    case OPCODE_GET_TUPLE_ELEMENT: return operands[0]->parts[inst->index];
    case OPCODE_COPY:
      if (inst_is_converting_copy(module, id)) break;
      return operands[0];
    case OPCODE_RESHAPE:
    case OPCODE_OPT_BARRIER:
    case OPCODE_BITCAST: return operands[0]; /* all layouts are the default ones */
    case OPCODE_BROADCAST: return broadcast(run, id, operands[0]);
    case OPCODE_SLICE: return slice(run, id, operands);
    case OPCODE_DYNAMIC_SLICE: return dynamic_slice(run, id, operands);
    case OPCODE_DYNAMIC_UPDATE_SLICE: return update_slice(run, id, operands);
    case OPCODE_WHILE: return run_loop(run, id, operands);
    case OPCODE_CALL:
    case OPCODE_FUSION: return run_comp(run, inst_callees(module, id)[0], operands);
    case OPCODE_CONDITIONAL: return run_branch(run, id, operands);
    default: break;
  }
  bool is_elementwise = opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE) && inst->num_operands > 0;
  return is_elementwise ? elementwise(run, id, operands) : some_function(run, id, operands);
}

static Value *run_comp(Run *run, CompId comp, Value *const *args) {
  const Module *module = run->module;
  Value **values = calloc(module->insts.len, sizeof(Value *));
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    run->is_known &= ++run->steps < MAX_STEPS;
    ShapeId shape = inst_get(module, id)->shape;
    values[id] = run->is_known ? run_inst(run, id, values, args) : made_up(run, shape, 0);
    run->is_known &= has_shape(run, shape, values[id]);
    if (!run->is_known) values[id] = made_up(run, shape, 0);
  }
  Value *result = values[comp_get(module, comp)->root];
  free(values);
  return result;
}

Evaluation evaluate_module(const Module *module) {
  Run run = {.module = module, .arena = arena_new(NULL), .is_known = true};
  const Computation *entry = comp_get(module, module->entry);
  Value **args = arena_array(run.arena, Value *, entry->params.len);
  for (uint32_t i = 0; i < entry->params.len; i++) {
    args[i] = made_up(&run, inst_get(module, id_list(module, entry->params)[i])->shape, i + 1);
  }
  const Value *result = run_comp(&run, module->entry, args);
  uint64_t hash = hash_value(&run, inst_get(module, entry->root)->shape, result, HASH_SEED);
  arena_free(run.arena);
  return (Evaluation){hash, run.effects, run.num_clamped, run.is_known};
}
