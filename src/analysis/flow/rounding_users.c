#include "analysis/flow/rounding_users.h"

#include "analysis/flow/literal.h"
#include "analysis/flow/rounding.h"
#include "ir/hash.h"

static uint32_t place_of(const RoundingFunction *function, InstId id) {
  return function->place[id];
}

/* ---- congruence ---- */

/* Whether the result has the operand's elements, all of them and nothing else, perhaps at other
 * places. The same element may then be read through such instructions and without them. */
static bool only_moves(Opcode opcode) {
  switch (opcode) {
    case OPCODE_BITCAST:
    case OPCODE_BROADCAST:
    case OPCODE_COPY:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_TRANSPOSE: return true;
    default: return false;
  }
}

static bool is_commutative(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ADD:
    case OPCODE_AND:
    case OPCODE_MAXIMUM:
    case OPCODE_MINIMUM:
    case OPCODE_MULTIPLY:
    case OPCODE_OR:
    case OPCODE_XOR:
    /* The starts of a slice come in an order that bitcasts change. */
    case OPCODE_DYNAMIC_SLICE: return true;
    default: return false;
  }
}

static uint64_t hash_attributes(const Module *module, InstId id) {
  uint64_t hash = HASH_SEED;
  AttrSlice attrs = inst_attrs(module, id);
  bool is_slice = inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE; /* its sizes are a shape */
  for (uint32_t i = 0; i < attrs.len && !is_slice; i++) {
    const Attr *attr = &attrs.data[i];
    if (attribute_is_annotation(attr->id)) continue;
    Str text = module_span(module, attr->text);
    hash = hash_bytes(hash_mix(hash, attr->id), text.data, text.len);
  }
  InstId origin = inst_get(module, id)->origin;
  if (origin == NO_ID || inst_get(module, id)->num_operands) return hash;
  const InstSource *source = &module->source->insts.data[origin];
  if (source->text.end == 0) return hash;
  Str text = module_span(module, (Span){source->paren + 1, source->close});
  return hash_bytes(hash, text.data, text.len);
}

static uint64_t hash_param(const RoundingFunction *function, InstId param) {
  const Module *module = function->module;
  uint64_t number = (uint64_t)inst_get(module, param)->index;
  if (function->caller != NO_ID && number < inst_get(module, function->caller)->num_operands)
    number = rounding_memory_of(module, inst_operand(module, function->caller, (uint32_t)number));
  return hash_mix(hash_mix(HASH_SEED, OPCODE_PARAMETER), number);
}

/* A hash that equal expressions share. Different ones may share it, too, and count as equal then,
 * which is safe. */
static uint64_t hash_inst(const RoundingFunction *function, const uint64_t *hashes, InstId id) {
  const Module *module = function->module;
  const Instruction *inst = inst_get(module, id);
  Opcode opcode = (Opcode)inst->opcode;
  if (opcode == OPCODE_PARAMETER) return hash_param(function, id);
  if (only_moves(opcode)) return hashes[place_of(function, inst_operand(module, id, 0))];
  uint64_t hash = hash_mix(hash_mix(HASH_SEED, opcode), inst_shape(module, id)->type);
  hash = hash_mix(hash_mix(hash, (uint64_t)inst->index), hash_attributes(module, id));
  uint64_t sum = 0;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    uint64_t operand = hashes[place_of(function, inst_operand(module, id, i))];
    sum = is_commutative(opcode) ? sum + hash_mix(HASH_SEED, operand) : hash_mix(sum, operand);
  }
  for (uint32_t i = 0; i < inst->num_callees; i++)
    sum = hash_mix(sum, inst_callees(module, id)[i]);
  return hash_mix(hash, sum);
}

static void find_classes(const RoundingFunction *function, RoundingUsers *users, Arena *scratch) {
  IdTable table = {0};
  for (uint32_t i = 0; i < function->order.len; i++) {
    uint64_t hash = hash_inst(function, users->hashes, function->order.ids[i]);
    uint32_t found, class = NO_ID;
    for (IdProbe probe = id_table_probe(&table, hash); id_probe_next(&probe, &found);) {
      if (users->hashes[found] == hash) class = users->class_of[found];
    }
    if (class == NO_ID) {
      class = i;
      id_table_add(&table, scratch, hash, i);
    }
    users->hashes[i] = hash;
    users->class_of[i] = class;
  }
}

/* Counts the users that the results need. */
static void count_users(const RoundingFunction *function, RoundingUsers *users) {
  const Module *module = function->module;
  for (uint32_t i = 0; i < function->num_results; i++) {
    uint32_t place = place_of(function, function->results[i]);
    users->is_needed[place] = true;
    users->num_users[users->class_of[place]]++;
  }
  for (uint32_t i = function->order.len; i-- > 0;) {
    InstId id = function->order.ids[i];
    if (!users->is_needed[i]) continue;
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      uint32_t first = 0, place = place_of(function, operand);
      while (inst_operand(module, id, first) != operand)
        first++;
      users->is_needed[place] = true;
      bool is_reader = first == k && !only_moves((Opcode)inst_get(module, id)->opcode);
      if (is_reader) users->num_users[users->class_of[place]]++;
    }
  }
}

/* ---- what is certainly read twice ---- */

bool rounding_is_exact(const Module *module, InstId multiply) {
  for (uint32_t i = 0; i < 2; i++) {
    InstId operand = inst_operand(module, multiply, i);
    while (inst_get(module, operand)->opcode == OPCODE_BROADCAST ||
           inst_get(module, operand)->opcode == OPCODE_BITCAST)
      operand = inst_operand(module, operand, 0);
    if (literal_is_power_of_two(module, operand)) return true;
  }
  return false;
}

static bool same_dims(const Shape *a, const Shape *b) {
  if (!shape_is_array(a) || !shape_is_array(b) || a->rank != b->rank) return false;
  return a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Whether LLVM cannot compute the result without each of the operands. Without flags of fast
 * mathematics it drops none of a sum or a product, unless the other is not a number. */
static bool needs_operands(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_ADD:
    case OPCODE_DIVIDE:
    case OPCODE_MULTIPLY:
    case OPCODE_SUBTRACT:
      for (uint32_t i = 0; i < 2; i++) {
        InstId operand = inst_operand(module, id, i);
        while (only_moves((Opcode)inst_get(module, operand)->opcode))
          operand = inst_operand(module, operand, 0);
        if (literal_is_nan(module, operand)) return false;
      }
      break;
    case OPCODE_ABS:
    case OPCODE_BITCAST:
    case OPCODE_BROADCAST:
    case OPCODE_CONVERT:
    case OPCODE_COPY:
    case OPCODE_COSINE:
    case OPCODE_EXPONENTIAL:
    case OPCODE_EXPONENTIAL_MINUS_ONE:
    case OPCODE_LOG:
    case OPCODE_LOG_PLUS_ONE:
    case OPCODE_LOGISTIC:
    case OPCODE_NEGATE:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_RSQRT:
    case OPCODE_SINE:
    case OPCODE_SQRT:
    case OPCODE_TANH:
    case OPCODE_TRANSPOSE: break;
    default: return false;
  }
  const Shape *shape = inst_shape(module, id);
  return shape_is_array(shape) && type_info((ElementType)shape->type)->class == TYPE_CLASS_FLOAT;
}

/* Whether the instruction reads a product in another way than a sum does. */
static bool is_other_reader(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return opcode == OPCODE_DIVIDE || (opcode == OPCODE_MULTIPLY && !rounding_is_exact(module, id));
}

/* Instructions are computed at the index at which their readers ask for them. By place, from the
 * results back: */
typedef struct Reading {
  uint64_t index;  /* equal numbers for equal indices; 0 = not met yet */
  bool is_certain; /* LLVM cannot do without the value */
  bool has_other;  /* one that multiplies or divides, or stores, reads it */
  bool is_mixed;   /* it is read at several indices */
} Reading;

enum { INDEX_OF_RESULTS = 1 };

static void add_reading(Reading *reading, uint32_t place, uint64_t index) {
  if (reading->index == 0) {
    reading->index = index;
  } else if (reading->index != index) {
    reading->is_mixed = true;
    reading->index = hash_mix(HASH_SEED, place); /* all of them */
  }
}

/* Adds what an instruction reads of its operands. What is computed at several indices reads its
 * operands at all of these. */
static void add_readings_of(const RoundingFunction *function, Reading *readings, uint32_t place) {
  const Module *module = function->module;
  InstId id = function->order.ids[place];
  const Instruction *inst = inst_get(module, id);
  bool is_certain = readings[place].is_certain && needs_operands(module, id);
  for (uint32_t k = 0; k < inst->num_operands; k++) {
    InstId operand = inst_operand(module, id, k);
    Reading *reading = &readings[place_of(function, operand)];
    bool is_same = opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE) &&
                   same_dims(inst_shape(module, id), inst_shape(module, operand));
    uint64_t other = hash_mix(hash_mix(HASH_SEED, place), k + 1);
    add_reading(reading, place_of(function, operand), is_same ? readings[place].index : other);
    bool is_written = inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE && k == 1;
    reading->is_certain |= is_certain || (is_written && readings[place].is_certain);
    reading->has_other |= is_certain && is_other_reader(module, id);
  }
}

static void find_shared(const RoundingFunction *function, RoundingUsers *users, Arena *scratch) {
  const Module *module = function->module;
  Reading *readings = arena_zarray(scratch, Reading, function->order.len);
  const Shape *first = inst_shape(module, function->results[0]);
  for (uint32_t i = 0; i < function->num_results; i++) {
    InstId id = function->results[i];
    uint32_t place = place_of(function, id);
    bool is_same = same_dims(first, inst_shape(module, id));
    add_reading(&readings[place], place, is_same ? INDEX_OF_RESULTS : INDEX_OF_RESULTS + 1 + i);
    readings[place].is_certain = readings[place].has_other = true;
  }
  for (uint32_t i = function->order.len; i-- > 0;) {
    if (!users->is_needed[i]) continue;
    add_readings_of(function, readings, i);
    users->is_shared[i] = readings[i].has_other && !readings[i].is_mixed;
  }
}

RoundingUsers rounding_users_find(const RoundingFunction *function, Arena *out, Arena *scratch) {
  uint32_t count = function->order.len;
  RoundingUsers users = {.hashes = arena_array(out, uint64_t, count),
                         .class_of = arena_array(out, uint32_t, count),
                         .num_users = arena_zarray(out, uint32_t, count),
                         .is_needed = arena_zarray(out, bool, count),
                         .is_shared = arena_zarray(out, bool, count)};
  find_classes(function, &users, scratch);
  count_users(function, &users);
  if (!function->is_nested) find_shared(function, &users, scratch);
  return users;
}
