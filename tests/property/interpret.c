#include "interpret.h"

#include <stdlib.h>

#include "analysis/memory/liveness.h"
#include "support.h"

enum { MAX_LOOP_RUNS = 3 };

typedef struct Interpreter {
  const Module *module;
  Arena *arena;
  Outcome outcome;
  /* in memory: */
  const ValueAnalysis *values; /* NULL = every value has memory of its own */
  uint32_t *memory;            /* by BufferId */
} Interpreter;

/* Marks a number that all elements of an array are; what is mixed never has it. */
#define SPLAT 0x80000000u

static uint32_t mix(uint32_t hash, uint32_t value) {
  hash = (hash ^ value) * 0x9E3779B1u;
  hash ^= hash >> 15;
  hash *= 0x85EBCA77u;
  return (hash ^ hash >> 13) & ~SPLAT;
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

bool attr_tells_value(const Attr *attr) {
  bool is_note = attr->id == ATTR_METADATA || attr->id == ATTR_FRONTEND_ATTRIBUTES ||
                 attr->id == ATTR_CONTROL_PREDECESSORS || attr->id == ATTR_CHANNEL_ID;
  return !attr->num_callees && !is_note;
}

/* What the text says of an instruction besides its operands and computations. */
static uint32_t hash_of_text(const Interpreter *run, InstId id) {
  const Module *module = run->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t hash = mix_shape(run, inst->opcode + 1u, id);
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (!attr_tells_value(attr)) continue;
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

/* ---- memory ---- */

/* The memory of a part of what an instruction gives; NULL where it is its own. */
static uint32_t *memory_of(const Interpreter *run, InstId id, uint32_t part) {
  if (!run->values || !dataflow_covers(&run->values->flow, id)) return NULL;
  const HloBuffers *buffers = &run->values->buffers;
  ValueId value = dataflow_value(&run->values->flow, id, part);
  BufferId buffer = buffers->of[value];
  bool is_shared = buffers->first_value[buffer + 1] - buffers->first_value[buffer] > 1;
  ShapeId shape = run->values->flow.values.data[value].shape;
  return is_shared && shape_is_array(shape_get(&run->module->shapes, shape)) ? &run->memory[buffer]
                                                                             : NULL;
}

static bool defines(const Interpreter *run, InstId id, uint32_t part) {
  const Dataflow *flow = &run->values->flow;
  const HloValue *value = &flow->values.data[dataflow_value(flow, id, part)];
  return value->inst == id && value->part == part && !value->is_phi;
}

static void write_memory(Interpreter *run, InstId id, const uint32_t *parts) {
  for (uint32_t k = 0; k < num_parts(run, id); k++) {
    uint32_t *place = memory_of(run, id, k);
    if (place && defines(run, id, k)) *place = parts[k];
  }
}

/* What is found where an instruction's result is. */
static const uint32_t *read_memory(Interpreter *run, InstId id, const uint32_t *parts) {
  if (!run->values) return parts;
  uint32_t *found = arena_array(run->arena, uint32_t, num_parts(run, id));
  for (uint32_t k = 0; k < num_parts(run, id); k++) {
    const uint32_t *place = memory_of(run, id, k);
    found[k] = place ? *place : parts[k];
  }
  return found;
}

/* Constants and the module's parameters are there before it runs. */
static uint32_t number_of_constant(const Interpreter *run, InstId id);

static bool is_given(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return inst->opcode == OPCODE_CONSTANT ||
         (inst->opcode == OPCODE_PARAMETER && inst->parent == module->entry);
}

static void give(Interpreter *run, const uint32_t *const *args) {
  const Module *module = run->module;
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!dataflow_covers(&run->values->flow, id) || !is_given(module, id)) continue;
    if (inst_get(module, id)->opcode == OPCODE_CONSTANT) {
      uint32_t number = number_of_constant(run, id);
      write_memory(run, id, &number);
    } else {
      write_memory(run, id, args[inst_get(module, id)->index]);
    }
  }
}

/* A hash of those that must be as they were. */
static uint32_t hash_of_kept(const Interpreter *run) {
  const Dataflow *flow = &run->values->flow;
  const bool *is_callers = values_of_callers(run->module, flow, run->arena);
  uint32_t hash = 9;
  for (ValueId value = 0; value < flow->values.len; value++) {
    InstId id = flow->values.data[value].inst;
    const uint32_t *place = memory_of(run, id, flow->values.data[value].part);
    bool is_constant = inst_get(run->module, id)->opcode == OPCODE_CONSTANT;
    if (place && (is_callers[value] || is_constant)) hash = mix(hash, *place);
  }
  return hash;
}

/* ---- computations ---- */

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
  bool is_in_memory = run->values && comp == module->entry;
  if (is_in_memory) give(run, args);
  uint32_t kept = is_in_memory ? hash_of_kept(run) : 0;
  const uint32_t *result = run_comp(run, comp, args);
  uint32_t hash = is_in_memory && hash_of_kept(run) != kept ? 6 : 5;
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
  for (int i = 0; i < MAX_LOOP_RUNS; i++) {
    if (run_comp(run, callees[1], &state)[0] % 5 == 0) break;
    state = run_comp(run, callees[0], &state);
  }
  uint32_t *result = arena_array(run->arena, uint32_t, num_parts(run, id));
  memcpy(result, state, num_parts(run, id) * sizeof *result);
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

/* A broadcast scalar, and what only picks or moves elements of such a value. Who reads it counts
 * its shape. */
static uint32_t *splat(Interpreter *run, const uint32_t *scalar) {
  uint32_t *parts = arena_array(run->arena, uint32_t, 1);
  parts[0] = scalar[0] | SPLAT;
  return parts;
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
    InstId operand = inst_operand(run->module, id, i);
    values[i] = read_memory(run, operand, parts[operand]);
  }
  switch (inst->opcode) {
    case OPCODE_PARAMETER: return (uint32_t *)args[inst->index];
    case OPCODE_TUPLE: return make_tuple(run, id, values);
    case OPCODE_GET_TUPLE_ELEMENT: return take_element(run, id, values[0]);
    case OPCODE_COPY:
      if (inst_is_converting_copy(run->module, id)) return operation(run, id, values);
      return (uint32_t *)values[0];
    case OPCODE_BITCAST:
    case OPCODE_RESHAPE: /* the same elements in the same order; who reads them counts their shape
                          */
    case OPCODE_OPT_BARRIER: return (uint32_t *)values[0];
    case OPCODE_BROADCAST: {
      InstId operand = inst_operand(run->module, id, 0);
      if (inst_shape(run->module, operand)->num_elements == 1) return splat(run, values[0]);
    } /* fall through */
    case OPCODE_SLICE:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_TRANSPOSE:
    case OPCODE_REVERSE:
      if (values[0][0] & SPLAT) return (uint32_t *)values[0];
      return operation(run, id, values);
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
    bool is_param = inst_get(module, id)->opcode == OPCODE_PARAMETER;
    bool is_covered = run->values && dataflow_covers(&run->values->flow, id);
    if (is_covered && !is_param && !is_given(module, id)) write_memory(run, id, parts[id]);
  }
  InstId root = comp_get(module, comp)->root;
  uint32_t *result = (uint32_t *)read_memory(run, root, parts[root]);
  free(parts);
  return result;
}

static uint32_t number_of_constant(const Interpreter *run, InstId id) {
  return mix(hash_of_text(run, id), 0);
}

Outcome interpret_in_memory(const Module *module) {
  Arena *scratch = arena_new(NULL);
  Interpreter run = {.module = module, .arena = arena_new(NULL)};
  ValueAnalysis values = value_analysis_build(module, run.arena, scratch);
  run.values = &values;
  run.memory = arena_zarray(run.arena, uint32_t, values.buffers.num_buffers);
  run.outcome.result = hash_function(&run, module->entry);
  arena_free(run.arena);
  arena_free(scratch);
  return run.outcome;
}

Outcome interpret(const Module *module) {
  Interpreter run = {.module = module, .arena = arena_new(NULL)};
  run.outcome.result = hash_function(&run, module->entry);
  arena_free(run.arena);
  return run.outcome;
}
