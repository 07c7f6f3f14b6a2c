#include "analysis/flow/rounding.h"

#include "analysis/flow/literal.h"
#include "analysis/flow/traverse.h"
#include "ir/hash.h"

/* What a sum sees when it looks at an operand. */
typedef enum Look {
  LOOK_NONE,    /* no product */
  LOOK_PRODUCT, /* one product, which every backend contracts */
  LOOK_OPEN,    /* there may be a product */
} Look;

typedef struct Finder {
  const Module *module;
  CompId comp;
  InstId caller;
  bool is_nested;
  Sequence order;
  uint32_t *class_of;  /* by place: a number that congruent instructions share */
  uint32_t *num_users; /* by class: users of all its instructions */
  uint8_t *looks;      /* by place: Look */
  bool *is_whole;      /* by place: see FunctionRounding.root_is_whole */
  const uint32_t *place;
} Finder;

/* ---- types and opcodes ---- */

static bool is_complex(const Shape *shape) {
  if (!shape_is_array(shape)) return false;
  return type_info((ElementType)shape->type)->class == TYPE_CLASS_COMPLEX;
}

static bool is_rounded(const Shape *shape) {
  return shape_is_array(shape) &&
         (type_info((ElementType)shape->type)->class == TYPE_CLASS_FLOAT || is_complex(shape));
}

bool rounding_passes_products(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ABS:
    case OPCODE_BITCAST:
    case OPCODE_BROADCAST:
    case OPCODE_COMPLEX:
    case OPCODE_CONCATENATE:
    case OPCODE_CONVERT:
    case OPCODE_COPY:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_GATHER:
    case OPCODE_IMAG:
    case OPCODE_NEGATE:
    case OPCODE_PAD:
    case OPCODE_REAL:
    case OPCODE_REDUCE_PRECISION:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_SELECT:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE: return true;
    /* XLA returns small operands as they are. */
    case OPCODE_TANH: return true;
    default: return false;
  }
}

/* The result of an elementary function may be the product that its expansion ends with. Those that
 * end with a division, a sum or one instruction of the processor are excluded. */
static bool ends_with_product(Opcode opcode) {
  switch (opcode) {
    case OPCODE_LOG:
    case OPCODE_LOGISTIC:
    case OPCODE_SQRT:
    case OPCODE_TANH: return false;
    default: return opcode_has(opcode, OPF_TRANSCENDENTAL);
  }
}

/* Whether one of the functions that the instruction applies to numbers adds something. */
static bool applies_sums(const Module *module, InstId id) {
  for (uint32_t c = 0; c < inst_get(module, id)->num_callees; c++) {
    CompId comp = inst_callees(module, id)[c];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      switch (inst_get(module, comp_inst(module, comp, i))->opcode) {
        case OPCODE_PARAMETER:
        case OPCODE_TUPLE:
        case OPCODE_MAXIMUM:
        case OPCODE_MINIMUM:
        case OPCODE_AND:
        case OPCODE_OR:
        case OPCODE_COMPARE:
        case OPCODE_SELECT:
        case OPCODE_CONSTANT: break;
        default: return true;
      }
    }
  }
  return false;
}

/* Whether an instruction that is no sum of two operands rounds by itself in a way that the backend
 * chooses, such as the order in which a reduction adds. */
static bool is_open_alone(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_CONVOLUTION:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_DOT:
    case OPCODE_FFT:
    case OPCODE_CHOLESKY:
    case OPCODE_TRIANGULAR_SOLVE: return true;
    case OPCODE_MAP:
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SCATTER:
    case OPCODE_SELECT_AND_SCATTER: return applies_sums(module, id);
    case OPCODE_ADD:
    case OPCODE_SUBTRACT:
    case OPCODE_NEGATE: return false;
    /* (a + bi)(c + di) is a sum of two products. */
    default:
      return is_complex(inst_shape(module, id)) &&
             (inst->opcode == OPCODE_MULTIPLY || inst->opcode == OPCODE_DIVIDE ||
              opcode_has((Opcode)inst->opcode, OPF_TRANSCENDENTAL));
  }
}

static bool is_sum(Opcode opcode) {
  return opcode == OPCODE_ADD || opcode == OPCODE_SUBTRACT;
}

/* Whether the operation may begin with a sum: the expansion of an elementary function may. */
static bool adds_operands(Opcode opcode) {
  return is_sum(opcode) || opcode_has(opcode, OPF_TRANSCENDENTAL) || opcode == OPCODE_REMAINDER;
}

bool rounding_takes_products(const Module *module, InstId id) {
  return adds_operands((Opcode)inst_get(module, id)->opcode) || is_open_alone(module, id) ||
         inst_get(module, id)->num_callees > 0;
}

/* ---- congruence ---- */

static uint64_t hash_attributes(const Module *module, InstId id) {
  uint64_t hash = HASH_SEED;
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
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

uint64_t rounding_memory_of(const Module *module, InstId operand) {
  for (;;) {
    const Instruction *inst = inst_get(module, operand);
    if (inst->opcode == OPCODE_BITCAST) {
      operand = inst_operand(module, operand, 0);
      continue;
    }
    if (inst->opcode != OPCODE_GET_TUPLE_ELEMENT) return operand;
    InstId tuple = inst_operand(module, operand, 0);
    uint64_t index = (uint64_t)inst->index;
    if (inst_get(module, tuple)->opcode != OPCODE_TUPLE) return (index + 1) << 32 | tuple;
    operand = inst_operand(module, tuple, (uint32_t)index);
  }
}

static uint32_t place_of(const Finder *finder, InstId id) {
  return finder->place[id];
}

/* A hash that equal expressions share. Different ones share it by chance only, and count as equal
 * then, which is safe. */
static uint64_t hash_inst(const Finder *finder, const uint64_t *hashes, InstId id) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  uint64_t hash = hash_mix(hash_mix(HASH_SEED, inst->opcode), inst->shape);
  if (inst->opcode == OPCODE_PARAMETER) {
    uint64_t number = (uint64_t)inst->index;
    if (finder->caller != NO_ID && number < inst_get(module, finder->caller)->num_operands)
      number = rounding_memory_of(module, inst_operand(module, finder->caller, (uint32_t)number));
    return hash_mix(hash, number);
  }
  hash = hash_mix(hash_mix(hash, (uint64_t)inst->index), hash_attributes(module, id));
  uint64_t sum = 0;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    uint64_t operand = hashes[place_of(finder, inst_operand(module, id, i))];
    if (inst->opcode == OPCODE_MULTIPLY) {
      sum += hash_mix(HASH_SEED, operand); /* the order does not matter */
    } else {
      sum = hash_mix(sum, operand);
    }
  }
  for (uint32_t i = 0; i < inst->num_callees; i++)
    sum = hash_mix(sum, inst_callees(module, id)[i]);
  return hash_mix(hash, sum);
}

/* Adds the users that the root needs. */
static void count_users(Finder *finder, Arena *scratch) {
  const Module *module = finder->module;
  bool *is_needed = arena_zarray(scratch, bool, finder->order.len);
  is_needed[place_of(finder, comp_get(module, finder->comp)->root)] = true;
  for (uint32_t i = finder->order.len; i-- > 0;) {
    InstId id = finder->order.ids[i];
    if (!is_needed[i]) continue;
    for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
      InstId operand = inst_operand(module, id, k);
      uint32_t first = 0;
      while (inst_operand(module, id, first) != operand)
        first++;
      is_needed[place_of(finder, operand)] = true;
      if (first == k) finder->num_users[finder->class_of[place_of(finder, operand)]]++;
    }
  }
}

/* Fills class_of and num_users. LLVM computes congruent expressions once. */
static void find_classes(Finder *finder, Arena *scratch) {
  const Module *module = finder->module;
  uint32_t count = finder->order.len;
  uint64_t *hashes = arena_array(scratch, uint64_t, count);
  IdTable table = {0};
  for (uint32_t i = 0; i < count; i++) {
    InstId id = finder->order.ids[i];
    hashes[i] = hash_inst(finder, hashes, id);
    uint32_t found, class = NO_ID;
    for (IdProbe probe = id_table_probe(&table, hashes[i]); id_probe_next(&probe, &found);) {
      if (hashes[found] == hashes[i]) class = finder->class_of[found];
    }
    if (class == NO_ID) {
      class = i;
      id_table_add(&table, scratch, hashes[i], i);
    }
    finder->class_of[i] = class;
    if (inst_is_root(module, id)) finder->num_users[class]++;
  }
  count_users(finder, scratch);
}

/* ---- looking ---- */

static bool is_constant(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_BROADCAST ||
         inst_get(module, id)->opcode == OPCODE_BITCAST ||
         inst_get(module, id)->opcode == OPCODE_CONVERT)
    id = inst_operand(module, id, 0);
  return inst_get(module, id)->opcode == OPCODE_CONSTANT;
}

/* Whether a multiplication is by a power of two: its result is exact, so it does not matter whether
 * it is contracted, as long as it is no subnormal number. LLVM makes such a multiplication of a
 * division, and of no other division. */
static bool is_exact(const Module *module, InstId id) {
  for (uint32_t i = 0; i < 2; i++) {
    InstId operand = inst_operand(module, id, i);
    while (inst_get(module, operand)->opcode == OPCODE_BROADCAST ||
           inst_get(module, operand)->opcode == OPCODE_BITCAST)
      operand = inst_operand(module, operand, 0);
    if (literal_is_power_of_two(module, operand)) return true;
  }
  return false;
}

static Look worst_of_operands(const Finder *finder, InstId id, uint32_t *num_products) {
  Look worst = LOOK_NONE;
  *num_products = 0;
  for (uint32_t i = 0; i < inst_get(finder->module, id)->num_operands; i++) {
    Look look = (Look)finder->looks[place_of(finder, inst_operand(finder->module, id, i))];
    *num_products += look != LOOK_NONE;
    if (look > worst) worst = look;
  }
  return worst;
}

/* What a sum sees of a product: it is contracted if nothing else reads it and nothing moves it. */
static Look look_at_product(const Finder *finder, uint32_t place) {
  bool is_shared = finder->num_users[finder->class_of[place]] > 1;
  return is_shared || !finder->is_whole[place] ? LOOK_OPEN : LOOK_PRODUCT;
}

static Look look_through(const Finder *finder, InstId id, uint32_t place) {
  uint32_t num_products;
  Look look = worst_of_operands(finder, id, &num_products);
  if (look == LOOK_NONE) return LOOK_NONE;
  bool is_shared = finder->num_users[finder->class_of[place]] > 1;
  switch (inst_get(finder->module, id)->opcode) {
    case OPCODE_ABS:
    case OPCODE_BITCAST:
    case OPCODE_CONVERT:
    case OPCODE_COPY:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_NEGATE:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE: return is_shared ? LOOK_OPEN : look;
    default: return LOOK_OPEN;
  }
}

static Look look_at(const Finder *finder, InstId id, uint32_t place) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  Opcode opcode = (Opcode)inst->opcode;
  const Shape *shape = inst_shape(module, id);
  if (opcode == OPCODE_PARAMETER) {
    bool may_hold_products = !shape_is_array(shape) || is_rounded(shape);
    return finder->is_nested && may_hold_products ? LOOK_OPEN : LOOK_NONE;
  }
  if (opcode == OPCODE_TUPLE || opcode == OPCODE_GET_TUPLE_ELEMENT || inst->num_callees > 0)
    return opcode == OPCODE_REDUCE || opcode == OPCODE_REDUCE_WINDOW ? LOOK_NONE : LOOK_OPEN;
  if (!is_rounded(shape)) return LOOK_NONE;
  if (rounding_passes_products(opcode)) return look_through(finder, id, place);
  if (opcode == OPCODE_MULTIPLY && is_exact(module, id)) return LOOK_NONE;
  if (opcode == OPCODE_MULTIPLY || ends_with_product(opcode)) return look_at_product(finder, place);
  return LOOK_NONE;
}

static bool is_whole(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_PARAMETER:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_GATHER: return true;
    case OPCODE_BROADCAST:
    case OPCODE_CONSTANT:
    case OPCODE_IOTA: return false;
    default: break;
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (finder->is_whole[place_of(finder, inst_operand(module, id, i))]) return true;
  }
  return false;
}

/* ---- rounding ---- */

/* Whether the value may be negated or is scaled by a number that may be negative. */
static bool may_be_negated(const Module *module, InstId id) {
  for (;;) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_MULTIPLY) {
      return is_constant(module, inst_operand(module, id, 0)) ||
             is_constant(module, inst_operand(module, id, 1)) ||
             inst_get(module, inst_operand(module, id, 0))->opcode == OPCODE_NEGATE ||
             inst_get(module, inst_operand(module, id, 1))->opcode == OPCODE_NEGATE;
    }
    if (inst->opcode != OPCODE_BITCAST && inst->opcode != OPCODE_COPY &&
        inst->opcode != OPCODE_RESHAPE)
      return true;
    id = inst_operand(module, id, 0);
  }
}

/* Whether a sum of two products is a difference whose sides LLVM does not exchange. The product on
 * the left is then contracted (DAGCombiner::visitFSUBForFMACombine). It makes a sum of a difference
 * if something on the right is negative. */
static bool keeps_sides(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_SUBTRACT &&
         !may_be_negated(module, inst_operand(module, id, 0)) &&
         !may_be_negated(module, inst_operand(module, id, 1));
}

static Rounding round_inst(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  if (is_open_alone(module, id) || applies_sums(module, id))
    return (Rounding){ROUND_BY_FUNCTION, 0};
  if (!adds_operands((Opcode)inst->opcode) || !is_rounded(inst_shape(module, id)))
    return (Rounding){ROUND_ALONE, 0};
  uint32_t num_products;
  Look look = worst_of_operands(finder, id, &num_products);
  if (look == LOOK_NONE) return (Rounding){ROUND_ALONE, 0};
  if (look == LOOK_OPEN || (num_products > 1 && !keeps_sides(module, id)))
    return (Rounding){ROUND_BY_FUNCTION, 0};
  uint8_t operand = 0;
  while (finder->looks[place_of(finder, inst_operand(module, id, operand))] == LOOK_NONE)
    operand++;
  return (Rounding){ROUND_WITH_PRODUCT, operand};
}

FunctionRounding rounding_of(const Module *module, CompId comp, InstId caller, bool is_nested,
                             uint32_t *place, Arena *out, Arena *scratch) {
  Sequence order = inst_post_order(module, comp, place, scratch, scratch);
  FunctionRounding rounding = {
      .place = place, .of = arena_zarray(out, Rounding, order.len), .is_settled = true};
  Finder finder = {.module = module,
                   .comp = comp,
                   .caller = caller,
                   .is_nested = is_nested,
                   .order = order,
                   .class_of = arena_array(scratch, uint32_t, order.len),
                   .num_users = arena_zarray(scratch, uint32_t, order.len),
                   .looks = arena_zarray(scratch, uint8_t, order.len),
                   .is_whole = arena_zarray(scratch, bool, order.len),
                   .place = place};
  for (uint32_t i = 0; i < order.len; i++)
    place[order.ids[i]] = i;
  find_classes(&finder, scratch);
  for (uint32_t i = 0; i < order.len; i++) {
    InstId id = order.ids[i];
    finder.is_whole[i] = is_whole(&finder, id);
    finder.looks[i] = (uint8_t)look_at(&finder, id, i);
    rounding.of[i] = round_inst(&finder, id);
    rounding.has_products |= rounding.of[i].kind == ROUND_WITH_PRODUCT;
    bool is_open = rounding.of[i].kind == ROUND_BY_FUNCTION;
    rounding.is_settled &= !is_open;
    rounding.is_rigid |= is_open && is_complex(inst_shape(module, id));
  }
  uint32_t root = place[comp_get(module, comp)->root];
  rounding.root_may_be_product = finder.looks[root] != LOOK_NONE;
  rounding.root_is_whole = finder.is_whole[root];
  return rounding;
}

FunctionRounding rounding_of_fusion(const Module *module, InstId fusion, Arena *out) {
  uint32_t *place = arena_array(out, uint32_t, module->insts.len);
  return rounding_of(module, inst_callees(module, fusion)[0], fusion, false, place, out, out);
}

bool rounding_is_settled(const Module *module, InstId fusion, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  bool is_settled = rounding_of_fusion(module, fusion, arena).is_settled;
  arena_free(arena);
  return is_settled;
}
