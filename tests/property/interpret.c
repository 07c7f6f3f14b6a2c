#include "interpret.h"

#include <stdlib.h>

#include "support.h"

enum { LOOP_RUNS = 2 };

typedef struct Interpreter {
  const Module *module;
  Arena *arena;
  Outcome outcome;
} Interpreter;

static uint32_t mix(uint32_t hash, uint32_t value) {
  hash = (hash ^ value) * 0x9E3779B1u;
  hash ^= hash >> 15;
  hash *= 0x85EBCA77u;
  return hash ^ hash >> 13;
}

static uint32_t mix_text(uint32_t hash, Str text) {
  for (uint32_t i = 0; i < text.len; i++)
    hash = mix(hash, (unsigned char)text.data[i]);
  return mix(hash, text.len);
}

static uint32_t mix_shape(const Interpreter *run, uint32_t hash, InstId id) {
  ShapeId shape = inst_get(run->module, id)->shape;
  return mix_text(hash, shape_text(&run->module->shapes, shape, true, run->arena));
}

/* What the text says of an instruction besides its operands and computations. */
static uint32_t hash_of_text(const Interpreter *run, InstId id) {
  const Module *module = run->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t hash = mix_shape(run, inst->opcode + 1u, id);
  for (uint32_t i = 0; i < inst->num_attrs; i++) {
    const Attr *attr = &module->source->attrs.data[inst->attrs + i];
    bool is_note = attr->id == ATTR_METADATA || attr->id == ATTR_FRONTEND_ATTRIBUTES ||
                   attr->id == ATTR_CONTROL_PREDECESSORS || attr->id == ATTR_CHANNEL_ID;
    if (attr->num_callees || is_note) continue;
    hash = mix_text(mix(hash, attr->id), module_span(module, attr->text));
  }
  if (inst->opcode == OPCODE_CONSTANT) {
    const InstSource *source = &module->source->insts.data[id];
    hash = mix_text(hash, module_span(module, (Span){source->paren, source->close}));
  }
  return hash;
}

static bool has_effect(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_INFEED:
    case OPCODE_OUTFEED:
    case OPCODE_RNG: return true;
    case OPCODE_CUSTOM_CALL:
      return str_is(inst_attr_text(module, id, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT), "true");
    default: return false;
  }
}

static uint32_t num_parts(const Interpreter *run, InstId id) {
  return inst_shape(run->module, id)->num_parts;
}

static uint32_t *run_comp(Interpreter *run, CompId comp, const uint32_t *const *args);

/* A computation as a function: what it makes of made-up arguments. */
static uint32_t hash_function(Interpreter *run, CompId comp) {
  const Module *module = run->module;
  IdList params = comp_get(module, comp)->params;
  const uint32_t **args = arena_array(run->arena, const uint32_t *, params.len);
  for (uint32_t i = 0; i < params.len; i++) {
    uint32_t count = num_parts(run, id_list(module, params)[i]);
    uint32_t *parts = arena_array(run->arena, uint32_t, count);
    for (uint32_t k = 0; k < count; k++)
      parts[k] = mix(i + 77, k);
    args[i] = parts;
  }
  const uint32_t *result = run_comp(run, comp, args);
  uint32_t hash = 5;
  for (uint32_t k = 0; k < num_parts(run, comp_get(module, comp)->root); k++) {
    hash = mix(hash, result[k]);
  }
  return hash;
}

static uint32_t *operation(Interpreter *run, InstId id, const uint32_t *const *values) {
  const Instruction *inst = inst_get(run->module, id);
  uint32_t hash = hash_of_text(run, id);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId operand = inst_operand(run->module, id, i);
    hash = mix_shape(run, hash, operand);
    for (uint32_t k = 0; k < num_parts(run, operand); k++)
      hash = mix(hash, values[i][k]);
  }
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    hash = mix(hash, hash_function(run, inst_callees(run->module, id)[i]));
  }
  if (has_effect(run->module, id)) {
    run->outcome.effects = mix(run->outcome.effects, hash);
    run->outcome.effect_set += hash;
    run->outcome.num_effects++;
  }
  uint32_t *parts = arena_array(run->arena, uint32_t, num_parts(run, id));
  for (uint32_t k = 0; k < num_parts(run, id); k++)
    parts[k] = mix(hash, k);
  return parts;
}

static uint32_t *make_tuple(Interpreter *run, InstId id, const uint32_t *const *values) {
  uint32_t *parts = arena_zarray(run->arena, uint32_t, num_parts(run, id));
  uint32_t next = 1;
  for (uint32_t i = 0; i < inst_get(run->module, id)->num_operands; i++) {
    uint32_t count = num_parts(run, inst_operand(run->module, id, i));
    memcpy(parts + next, values[i], count * sizeof *parts);
    next += count;
  }
  return parts;
}

static uint32_t *take_element(const Interpreter *run, InstId id, const uint32_t *tuple) {
  const Shape *shape = inst_shape(run->module, inst_operand(run->module, id, 0));
  uint32_t next = 1;
  for (int64_t i = 0; i < inst_get(run->module, id)->index; i++) {
    next += shape_get(&run->module->shapes, shape->elements[i])->num_parts;
  }
  uint32_t *parts = arena_array(run->arena, uint32_t, num_parts(run, id));
  memcpy(parts, tuple + next, num_parts(run, id) * sizeof *parts);
  return parts;
}

/* ORDER body, condition in Instruction.callees */
static uint32_t *run_loop(Interpreter *run, InstId id, const uint32_t *state) {
  const CompId *callees = inst_callees(run->module, id);
  uint32_t conditions = 3;
  for (int i = 0; i < LOOP_RUNS; i++) {
    conditions = mix(conditions, run_comp(run, callees[1], &state)[0]);
    state = run_comp(run, callees[0], &state);
  }
  uint32_t *result = arena_array(run->arena, uint32_t, num_parts(run, id));
  for (uint32_t k = 0; k < num_parts(run, id); k++)
    result[k] = mix(conditions, state[k]);
  return result;
}

static bool is_constant(const Module *module, InstId id, const char *value) {
  if (inst_get(module, id)->opcode != OPCODE_CONSTANT) return false;
  const InstSource *source = &module->source->insts.data[id];
  return str_is(module_span(module, (Span){source->paren + 1, source->close}), value);
}

/* (x | 1) != 0, whatever x is. */
static bool is_true(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_COMPARE) return false;
  if (!str_is(inst_attr_text(module, id, ATTR_DIRECTION), "NE")) return false;
  InstId odd = inst_operand(module, id, 0);
  return is_constant(module, inst_operand(module, id, 1), "0") &&
         inst_get(module, odd)->opcode == OPCODE_OR &&
         is_constant(module, inst_operand(module, odd, 1), "1");
}

static uint32_t *run_branch(Interpreter *run, InstId id, const uint32_t *const *values) {
  uint32_t branch = values[0][0] % inst_get(run->module, id)->num_callees;
  if (is_true(run->module, inst_operand(run->module, id, 0))) branch = 0;
  return run_comp(run, inst_callees(run->module, id)[branch], values + 1 + branch);
}

static uint32_t *evaluate(Interpreter *run, InstId id, uint32_t *const *parts,
                          const uint32_t *const *args) {
  const Instruction *inst = inst_get(run->module, id);
  const uint32_t **values = arena_array(run->arena, const uint32_t *, inst->num_operands);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    values[i] = parts[inst_operand(run->module, id, i)];
  }
  switch (inst->opcode) {
    case OPCODE_PARAMETER: return (uint32_t *)args[inst->index];
    case OPCODE_TUPLE: return make_tuple(run, id, values);
    case OPCODE_GET_TUPLE_ELEMENT: return take_element(run, id, values[0]);
    case OPCODE_COPY:
    case OPCODE_BITCAST:
    case OPCODE_OPT_BARRIER: return (uint32_t *)values[0];
    case OPCODE_COPY_DONE: {
      InstId start = inst_operand(run->module, id, 0);
      return parts[inst_operand(run->module, start, 0)];
    }
    case OPCODE_CONVERT: /* that it is exact the verifier has proven */
      if (is_exact_conversion(run->module, id)) return (uint32_t *)values[0];
      return operation(run, id, values);
    case OPCODE_CALL:
    case OPCODE_FUSION: return run_comp(run, inst_callees(run->module, id)[0], values);
    case OPCODE_WHILE: return run_loop(run, id, values[0]);
    case OPCODE_CONDITIONAL: return run_branch(run, id, values);
    default: return operation(run, id, values);
  }
}

static uint32_t *run_comp(Interpreter *run, CompId comp, const uint32_t *const *args) {
  const Module *module = run->module;
  uint32_t **parts = calloc(module->insts.len, sizeof *parts);
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId id = comp_inst(module, comp, i);
    parts[id] = evaluate(run, id, parts, args);
  }
  uint32_t *result = parts[comp_get(module, comp)->root];
  free(parts);
  return result;
}

Outcome interpret(const Module *module) {
  Interpreter run = {.module = module, .arena = arena_new(NULL)};
  run.outcome.result = hash_function(&run, module->entry);
  arena_free(run.arena);
  return run.outcome;
}
