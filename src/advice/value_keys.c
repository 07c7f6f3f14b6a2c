#include "advice/value_keys.h"

#include <stdlib.h>

#include "ir/attribute.h"
#include "ir/hash.h"

ValueKeys value_keys_new(const Module *module, Arena *arena) {
  return (ValueKeys){.module = module,
                     .of = arena_zarray(arena, uint64_t, module->insts.len),
                     .elements = arena_zarray(arena, uint64_t *, module->insts.len),
                     .arena = arena};
}

static int64_t elements_of(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  return shape_is_array(shape) ? shape->num_elements : -1;
}

/* Whether an instruction has the value of its operand. A policy that saves a value puts a
 * reduce-precision to its own type around it. */
static bool is_form(const Module *module, InstId id) {
  if (inst_get(module, id)->num_operands != 1) return false;
  switch (inst_get(module, id)->opcode) {
    case OPCODE_BITCAST:
    case OPCODE_COPY:
    case OPCODE_RESHAPE:
    case OPCODE_TRANSPOSE:
    case OPCODE_OPT_BARRIER:
    case OPCODE_REDUCE_PRECISION: return true;
    default: return false;
  }
}

static bool is_symmetric(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ADD:
    case OPCODE_MULTIPLY:
    case OPCODE_MAXIMUM:
    case OPCODE_MINIMUM:
    case OPCODE_AND:
    case OPCODE_OR: return true;
    default: return false;
  }
}

/* What is the same however the dimensions are written: the part of each one that is taken. */
static uint64_t key_of_slice(const Module *module, InstId id, uint64_t key) {
  enum { WORDS = 3 }; /* ORDER of a slice's integers: begin, end, stride (ir/attribute.h) */
  const Shape *shape = inst_shape(module, inst_operand(module, id, 0));
  IntSlice slice = inst_attr_ints(module, id, ATTR_SLICE);
  for (uint32_t dim = 0; dim < shape->rank && WORDS * dim + 1 < slice.len; dim++) {
    int64_t begin = slice.data[WORDS * dim], end = slice.data[WORDS * dim + 1];
    if (begin == 0 && end == shape->dims[dim]) continue;
    key = hash_mix(hash_mix(key, (uint64_t)begin), (uint64_t)end);
  }
  return key;
}

static uint64_t key_of_details(const Module *module, InstId id, uint64_t key) {
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_SLICE: return key_of_slice(module, id, key);
    case OPCODE_GET_TUPLE_ELEMENT: return hash_mix(key, (uint64_t)inst->index);
    case OPCODE_COMPARE:
      return hash_mix(key, (uint64_t)inst_attr_int(module, id, ATTR_DIRECTION, DIRECTION_EQ));
    case OPCODE_CUSTOM_CALL:
      return hash_mix(key, hash_str(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET)));
    case OPCODE_REDUCE:
      return hash_mix(
          key, inst_get(module, comp_get(module, inst_callees(module, id)[0])->root)->opcode);
    case OPCODE_CONSTANT: {
      const InstSource *source = &module->source->insts.data[inst->origin];
      return hash_mix(key, hash_str(module_span(module, (Span){source->paren + 1, source->close})));
    }
    default: return key;
  }
}

/* Whether nothing is known of a value but that it is itself. */
static bool is_leaf(const Instruction *inst) {
  switch (inst->opcode) {
    case OPCODE_PARAMETER:
    case OPCODE_WHILE:
    case OPCODE_CONDITIONAL:
    case OPCODE_CALL:
    case OPCODE_RNG:
    case OPCODE_RNG_BIT_GENERATOR:
    case OPCODE_RNG_GET_AND_UPDATE_STATE:
    case OPCODE_PARTITION_ID:
    case OPCODE_REPLICA_ID: return true;
    case OPCODE_CONSTANT: return inst->origin == NO_ID || inst->flags & INST_ELIDED_LITERAL;
    default: return false;
  }
}

static int by_value(const void *pa, const void *pb) {
  uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
  return (a > b) - (a < b);
}

static uint64_t key_of_operation(ValueKeys *keys, InstId id) {
  enum { MAX_SORTED = 8 };
  const Module *module = keys->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t count = inst->num_operands;
  uint64_t sorted[MAX_SORTED];
  bool is_sorted = is_symmetric((Opcode)inst->opcode) && count <= MAX_SORTED;
  uint64_t key = hash_mix(HASH_SEED, inst->opcode);
  key = hash_mix(key, (uint64_t)elements_of(module, id));
  if (shape_is_array(inst_shape(module, id))) key = hash_mix(key, inst_shape(module, id)->type);
  key = key_of_details(module, id, key);
  for (uint32_t i = 0; is_sorted && i < count; i++)
    sorted[i] = keys->of[inst_operand(module, id, i)];
  if (is_sorted) qsort(sorted, count, sizeof *sorted, by_value);
  for (uint32_t i = 0; i < count; i++)
    key = hash_mix(key, is_sorted ? sorted[i] : keys->of[inst_operand(module, id, i)]);
  return key;
}

/* A broadcast of a broadcast is one. */
static uint64_t key_of_broadcast(ValueKeys *keys, InstId id) {
  const Module *module = keys->module;
  InstId operand = inst_operand(module, id, 0);
  while (is_form(module, operand) || inst_get(module, operand)->opcode == OPCODE_BROADCAST)
    operand = inst_operand(module, operand, 0);
  uint64_t key = hash_mix(hash_mix(HASH_SEED, OPCODE_BROADCAST), keys->of[operand]);
  return hash_mix(key, (uint64_t)elements_of(module, id));
}

static void read_fusion(ValueKeys *keys, InstId id) {
  const Module *module = keys->module;
  CompId comp = inst_callees(module, id)[0];
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId param = id_list(module, comp_get(module, comp)->params)[i];
    keys->of[param] = keys->of[inst_operand(module, id, i)];
  }
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (inst_get(module, inner)->opcode != OPCODE_PARAMETER) value_keys_read(keys, inner);
  }
  InstId root = comp_get(module, comp)->root;
  keys->of[id] = keys->of[root];
  keys->elements[id] = keys->elements[root];
}

static void read_tuple(ValueKeys *keys, InstId id) {
  uint32_t count = inst_get(keys->module, id)->num_operands;
  keys->elements[id] = arena_array(keys->arena, uint64_t, count);
  for (uint32_t i = 0; i < count; i++)
    keys->elements[id][i] = keys->of[inst_operand(keys->module, id, i)];
}

void value_keys_read(ValueKeys *keys, InstId id) {
  const Module *module = keys->module;
  const Instruction *inst = inst_get(module, id);
  if (is_leaf(inst)) {
    keys->of[id] = hash_mix(hash_mix(HASH_SEED, NUM_OPCODES), id);
  } else if (is_form(module, id)) {
    InstId operand = inst_operand(module, id, 0);
    keys->of[id] = keys->of[operand];
    keys->elements[id] = keys->elements[operand];
  } else if (inst->opcode == OPCODE_FUSION) {
    read_fusion(keys, id);
  } else if (inst->opcode == OPCODE_BROADCAST) {
    keys->of[id] = key_of_broadcast(keys, id);
  } else {
    if (inst->opcode == OPCODE_TUPLE) read_tuple(keys, id);
    const uint64_t *elements = inst->opcode == OPCODE_GET_TUPLE_ELEMENT
                                   ? keys->elements[inst_operand(module, id, 0)]
                                   : NULL;
    keys->of[id] = elements ? elements[inst->index] : key_of_operation(keys, id);
  }
}
