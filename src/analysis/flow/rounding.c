#include "analysis/flow/rounding.h"

#include "analysis/flow/rounding_users.h"
#include "analysis/flow/traverse.h"
#include "ir/bytes.h"

/* What a sum sees when it looks at an operand. */
typedef enum Look {
  LOOK_NONE,    /* no product */
  LOOK_SHARED,  /* one product, which something else certainly reads */
  LOOK_PRODUCT, /* one product, which nothing else reads */
  LOOK_OPEN,    /* there may be a product */
} Look;

typedef struct Finder {
  const Module *module;
  RoundingUsers users;
  bool is_nested;
  bool is_opaque; /* the function is a kernel of another code generator */
  ExcessPrecision excess;
  uint8_t *looks; /* by place: Look */
  bool *is_whole; /* by place: see FunctionRounding.root_is_whole */
  const uint32_t *place;
} Finder;

/* ---- types and opcodes ---- */

static bool is_complex(const Shape *shape) {
  if (!shape_is_array(shape)) return false;
  return type_info((ElementType)shape->type)->class == TYPE_CLASS_COMPLEX;
}

static bool is_real(const Shape *shape) {
  return shape_is_array(shape) && type_info((ElementType)shape->type)->class == TYPE_CLASS_FLOAT;
}

static bool is_rounded(const Shape *shape) {
  return is_real(shape) || is_complex(shape);
}

bool rounding_is_narrow(const Shape *shape) {
  enum { WORD_BITS = 32 };
  return is_real(shape) && type_info((ElementType)shape->type)->bits < WORD_BITS;
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

/* Whether an instruction computes a complex number of several products and sums: (a + bi)(c + di)
 * is two sums of two products each. */
static bool expands_complex(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  return is_complex(inst_shape(module, id)) &&
         (opcode == OPCODE_MULTIPLY || opcode == OPCODE_DIVIDE ||
          opcode_has(opcode, OPF_TRANSCENDENTAL));
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
    default: return expands_complex(module, id);
  }
}

/* Whether the minor-most dimension of more than one element is added up. */
static bool reduces_rows(const Shape *shape, IntSlice reduced) {
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t dim = shape_minor_dim(shape, i);
    if (shape->dims[dim] != 1) return ints_have(reduced, dim);
  }
  return true;
}

/* How many elements each result of a reduction is made of; INT64_MAX if that is not known. */
static int64_t num_reduced(const Shape *shape, IntSlice reduced) {
  int64_t count = 1;
  for (uint32_t i = 0; i < reduced.len; i++) {
    if (shape->dims[reduced.data[i]] < 0 || !mul_bytes(count, shape->dims[reduced.data[i]], &count))
      return INT64_MAX;
  }
  return count;
}

/* Whether a reduction adds up its elements in the same order in every function. A single element
 * has no other order. XLA:GPU has one thread add up columns of fewer elements than a warp has
 * threads, one element after the other, whatever else the kernel computes, unless it is one of
 * Triton's (IsUnnestedReductionFasterThanElemental in xla/service/gpu/reduction_utils.cc). Products
 * of matrices that are split along what they are contracted over end with such a sum. */
static bool is_added_in_order(const Module *module, InstId id, ExcessPrecision excess) {
  enum { WARP_THREADS = 32 };
  if (inst_get(module, id)->opcode != OPCODE_REDUCE || excess == EXCESS_PRODUCTS) return false;
  const Shape *shape = inst_shape(module, inst_operand(module, id, 0));
  if (!shape_is_array(shape) || rounding_is_narrow(shape)) return false;
  IntSlice reduced = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  int64_t count = num_reduced(shape, reduced);
  if (count <= 1) return true;
  return excess == EXCESS_NONE && count < WARP_THREADS && !reduces_rows(shape, reduced);
}

static bool has_tiles(const Module *module, InstId id) {
  const Shape *shape = inst_shape(module, id);
  return shape_is_array(shape) && shape->extras && shape->extras->num_tile_words;
}

/* XLA:TPU, which writes tiles, has one code generator for fusions of all kinds. */
bool rounding_is_opaque(const Module *module, InstId caller) {
  if (caller == NO_ID || inst_get(module, caller)->opcode != OPCODE_FUSION) return false;
  if (inst_get(module, caller)->origin == NO_ID || has_tiles(module, caller)) return false;
  for (uint32_t i = 0; i < inst_get(module, caller)->num_operands; i++) {
    if (has_tiles(module, inst_operand(module, caller, i))) return false;
  }
  return inst_attr_int(module, caller, ATTR_FUSION_KIND, FUSION_CUSTOM) == FUSION_CUSTOM;
}

bool rounding_may_round(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (!is_rounded(inst_shape(module, id))) return false;
  switch (opcode) {
    case OPCODE_BROADCAST:
    case OPCODE_CLAMP:
    case OPCODE_CONSTANT:
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_IOTA:
    case OPCODE_MAXIMUM:
    case OPCODE_MINIMUM:
    case OPCODE_PARAMETER: return false;
    case OPCODE_CONVERT:
    case OPCODE_REDUCE_PRECISION:
    case OPCODE_TANH: return true;
    default: return !rounding_passes_products(opcode);
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

/* What sees a value of a narrow type before it is rounded: LLO of XLA:TPU packs it, and what
 * unpacks it in the same function is simplified together with that. */
static bool takes_narrowed(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (opcode != OPCODE_CONVERT && opcode != OPCODE_TANH && rounding_passes_products(opcode))
    return false;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    if (rounding_is_narrow(inst_shape(module, inst_operand(module, id, i)))) return true;
  }
  return false;
}

bool rounding_takes_unrounded(const Module *module, InstId id) {
  switch (module->backend.excess) {
    case EXCESS_PRODUCTS: return rounding_takes_products(module, id);
    case EXCESS_NARROWED:
      return takes_narrowed(module, id) || inst_get(module, id)->num_callees > 0;
    default: return false;
  }
}

/* ---- memory ---- */

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

/* ---- looking ---- */

static bool is_constant(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_BROADCAST ||
         inst_get(module, id)->opcode == OPCODE_BITCAST ||
         inst_get(module, id)->opcode == OPCODE_CONVERT)
    id = inst_operand(module, id, 0);
  return inst_get(module, id)->opcode == OPCODE_CONSTANT;
}

/* The worst that is seen at the operands, and how many of them may be contracted. */
static Look worst_of_operands(const Finder *finder, InstId id, uint32_t *num_products) {
  Look worst = LOOK_NONE;
  *num_products = 0;
  for (uint32_t i = 0; i < inst_get(finder->module, id)->num_operands; i++) {
    Look look = (Look)finder->looks[place_of(finder, inst_operand(finder->module, id, i))];
    *num_products += look > LOOK_SHARED;
    if (look > worst) worst = look;
  }
  return worst;
}

static bool may_be_shared(const Finder *finder, uint32_t place) {
  return finder->users.num_users[finder->users.class_of[place]] > 1;
}

/* What a sum sees of a product: it is contracted if nothing else reads it and nothing moves it. */
static Look look_at_product(const Finder *finder, uint32_t place) {
  if (!finder->is_whole[place]) return LOOK_OPEN;
  if (finder->users.is_shared[place]) return LOOK_SHARED;
  return may_be_shared(finder, place) ? LOOK_OPEN : LOOK_PRODUCT;
}

/* Whether a number is rounded to fewer digits, which LLVM does not leave out: no sum sees the
 * product before that. */
static bool rounds_itself(const Module *module, InstId id) {
  if (inst_get(module, id)->opcode != OPCODE_CONVERT) return false;
  const Shape *to = inst_shape(module, id);
  const Shape *from = inst_shape(module, inst_operand(module, id, 0));
  return is_real(to) && is_real(from) &&
         type_info((ElementType)to->type)->bits < type_info((ElementType)from->type)->bits;
}

static Look look_through(const Finder *finder, InstId id, uint32_t place) {
  uint32_t num_products;
  Look look = worst_of_operands(finder, id, &num_products);
  if (look == LOOK_NONE || rounds_itself(finder->module, id)) return LOOK_NONE;
  switch (inst_get(finder->module, id)->opcode) {
    case OPCODE_ABS:
    case OPCODE_COPY:
    case OPCODE_NEGATE: return may_be_shared(finder, place) ? LOOK_OPEN : look;
    case OPCODE_BITCAST:
    case OPCODE_CONVERT:
    case OPCODE_DYNAMIC_SLICE:
    case OPCODE_RESHAPE:
    case OPCODE_REVERSE:
    case OPCODE_SLICE:
    case OPCODE_TRANSPOSE:
      return may_be_shared(finder, place) || look == LOOK_SHARED ? LOOK_OPEN : look;
    default: return LOOK_OPEN;
  }
}

/* A slice may be converted as it is taken or written. */
static bool narrows_operand(const Module *module, InstId id) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    const Shape *operand = inst_shape(module, inst_operand(module, id, i));
    if (is_real(operand) && !rounding_is_narrow(operand)) return true;
  }
  return false;
}

/* Whether an instruction has, or hands on, a value that is narrow and may not be rounded yet. */
static Look look_for_narrowed(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  const Shape *shape = inst_shape(module, id);
  bool may_hold = !shape_is_array(shape) || rounding_is_narrow(shape);
  if (!may_hold) return LOOK_NONE;
  if (inst->opcode == OPCODE_PARAMETER) return finder->is_nested ? LOOK_OPEN : LOOK_NONE;
  if (inst->opcode == OPCODE_TUPLE || inst->opcode == OPCODE_GET_TUPLE_ELEMENT ||
      inst->num_callees > 0 || rounding_may_round(module, id) || narrows_operand(module, id))
    return LOOK_OPEN;
  uint32_t num_products;
  return worst_of_operands(finder, id, &num_products);
}

static Look look_at(const Finder *finder, InstId id, uint32_t place) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  Opcode opcode = (Opcode)inst->opcode;
  const Shape *shape = inst_shape(module, id);
  if (finder->excess == EXCESS_NONE) return LOOK_NONE;
  if (finder->excess == EXCESS_NARROWED) return look_for_narrowed(finder, id);
  if (opcode == OPCODE_PARAMETER) {
    bool may_hold_products = !shape_is_array(shape) || is_rounded(shape);
    return finder->is_nested && may_hold_products ? LOOK_OPEN : LOOK_NONE;
  }
  if (opcode == OPCODE_TUPLE || opcode == OPCODE_GET_TUPLE_ELEMENT || inst->num_callees > 0)
    return opcode == OPCODE_REDUCE || opcode == OPCODE_REDUCE_WINDOW ? LOOK_NONE : LOOK_OPEN;
  if (!is_rounded(shape)) return LOOK_NONE;
  if (rounding_passes_products(opcode)) return look_through(finder, id, place);
  if (opcode == OPCODE_MULTIPLY && rounding_is_exact(module, id)) return LOOK_NONE;
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

static uint32_t count_looks(const Finder *finder, InstId id, Look wanted) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < inst_get(finder->module, id)->num_operands; i++)
    count += finder->looks[place_of(finder, inst_operand(finder->module, id, i))] == wanted;
  return count;
}

/* XLA:CPU has a code generator of loops and one of tiles, which takes over where it can do all of a
 * fusion. Their expansions of erf begin to return 1 at other arguments (3.74 and 3.83, JAX 0.11.2
 * and 0.12.0.1); no other operation was found to differ. */
static bool is_as_generator_expands(const Finder *finder, Opcode opcode) {
  return finder->excess == EXCESS_PRODUCTS && opcode == OPCODE_ERF;
}

static Rounding round_inst(const Finder *finder, InstId id) {
  const Module *module = finder->module;
  const Instruction *inst = inst_get(module, id);
  bool is_open = (finder->is_opaque && rounding_may_round(module, id)) ||
                 is_as_generator_expands(finder, (Opcode)inst->opcode);
  /* Where nothing is contracted, complex numbers are made of the same instructions in every kernel:
   * XLA:GPU's PTX has them (tests/accelerators/check_contraction.py). */
  bool is_ordered = is_added_in_order(module, id, finder->excess) ||
                    (finder->excess == EXCESS_NONE && expands_complex(module, id));
  if (is_open || (!is_ordered && (is_open_alone(module, id) || applies_sums(module, id))))
    return (Rounding){ROUND_BY_FUNCTION, 0};
  bool takes = finder->excess == EXCESS_NARROWED
                   ? takes_narrowed(module, id)
                   : adds_operands((Opcode)inst->opcode) && is_rounded(inst_shape(module, id));
  if (!takes) return (Rounding){ROUND_ALONE, 0};
  uint32_t num_products;
  Look look = worst_of_operands(finder, id, &num_products);
  if (look == LOOK_NONE) return (Rounding){ROUND_ALONE, 0};
  if (look == LOOK_OPEN || (num_products > 1 && !keeps_sides(module, id)))
    return (Rounding){ROUND_BY_FUNCTION, 0};
  if (look == LOOK_SHARED && count_looks(finder, id, LOOK_SHARED) > 1)
    return (Rounding){ROUND_BY_FUNCTION, 0};
  uint8_t operand = 0;
  while (finder->looks[place_of(finder, inst_operand(module, id, operand))] != look)
    operand++;
  return (Rounding){look == LOOK_SHARED ? ROUND_WITH_SHARED : ROUND_WITH_PRODUCT, operand};
}

/* Whether a sum may be contracted with the instruction as a product. */
static bool is_product(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (!is_rounded(inst_shape(module, id))) return false;
  return opcode == OPCODE_MULTIPLY ? !rounding_is_exact(module, id) : ends_with_product(opcode);
}

/* ---- functions ---- */

static void add_inst(Finder *finder, FunctionRounding *rounding, InstId id, uint32_t place,
                     Arena *out) {
  const Module *module = finder->module;
  finder->is_whole[place] = is_whole(finder, id);
  finder->looks[place] = (uint8_t)look_at(finder, id, place);
  rounding->of[place] = round_inst(finder, id);
  if (!finder->users.is_needed[place]) return;
  rounding->has_products |= rounding->of[place].kind == ROUND_WITH_PRODUCT;
  bool is_open = rounding->of[place].kind == ROUND_BY_FUNCTION;
  rounding->is_settled &= !is_open;
  rounding->is_rigid |= is_open && is_complex(inst_shape(module, id));
  if (is_product(module, id)) *vec_push(out, &rounding->products) = finder->users.hashes[place];
}

/* The rounding of what the results need. */
static FunctionRounding round_results(RoundingFunction *function, CompId comp,
                                      ExcessPrecision excess, uint32_t *place, Arena *out,
                                      Arena *scratch) {
  const Module *module = function->module;
  function->order = inst_post_order(module, comp, place, scratch, scratch);
  function->place = place;
  uint32_t count = function->order.len;
  for (uint32_t i = 0; i < count; i++)
    place[function->order.ids[i]] = i;
  FunctionRounding rounding = {
      .place = place, .of = arena_zarray(out, Rounding, count), .is_settled = true};
  Finder finder = {.module = module,
                   .users = rounding_users_find(function, out, scratch),
                   .is_nested = function->is_nested,
                   .is_opaque = rounding_is_opaque(module, function->caller),
                   .excess = excess,
                   .looks = arena_zarray(scratch, uint8_t, count),
                   .is_whole = arena_zarray(scratch, bool, count),
                   .place = place};
  rounding.is_needed = finder.users.is_needed;
  for (uint32_t i = 0; i < count; i++)
    add_inst(&finder, &rounding, function->order.ids[i], i, out);
  uint32_t root = place[comp_get(module, comp)->root];
  rounding.root_may_be_product = finder.looks[root] != LOOK_NONE;
  rounding.root_is_whole = finder.is_whole[root];
  return rounding;
}

FunctionRounding rounding_of(const Module *module, CompId comp, InstId caller, bool is_nested,
                             ExcessPrecision excess, uint32_t *place, Arena *out, Arena *scratch) {
  InstId root = comp_get(module, comp)->root;
  bool has_several =
      inst_get(module, root)->opcode == OPCODE_TUPLE && inst_get(module, root)->num_operands;
  RoundingFunction function = {
      .module = module,
      .caller = caller,
      .results = has_several ? inst_operands(module, root) : &root,
      .num_results = has_several ? inst_get(module, root)->num_operands : 1,
      .is_nested = is_nested};
  return round_results(&function, comp, excess, place, out, scratch);
}

FunctionRounding rounding_of_fusion(const Module *module, InstId fusion, Arena *out) {
  uint32_t *place = arena_array(out, uint32_t, module->insts.len);
  return rounding_of(module, inst_callees(module, fusion)[0], fusion, false, module->backend.excess,
                     place, out, out);
}

bool rounding_is_settled(const Module *module, InstId fusion, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  bool is_settled = rounding_of_fusion(module, fusion, arena).is_settled;
  arena_free(arena);
  return is_settled;
}

bool rounding_is_separable(const Module *module, InstId fusion, const InstId *results,
                           uint32_t num_results, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  FunctionRounding whole = rounding_of_fusion(module, fusion, arena);
  RoundingFunction function = {
      .module = module, .caller = fusion, .results = results, .num_results = num_results};
  CompId comp = inst_callees(module, fusion)[0];
  uint32_t *place = arena_array(arena, uint32_t, module->insts.len);
  FunctionRounding part =
      round_results(&function, comp, module->backend.excess, place, arena, arena);
  bool is_alike = part.is_settled;
  for (uint32_t i = 0; i < function.order.len; i++) {
    Rounding a = whole.of[i], b = part.of[i];
    is_alike &= !part.is_needed[i] || (a.kind == b.kind && a.operand == b.operand);
  }
  arena_free(arena);
  return is_alike;
}

bool rounding_shares_products(const FunctionRounding *a, const FunctionRounding *b) {
  for (uint32_t i = 0; i < a->products.len; i++) {
    for (uint32_t k = 0; k < b->products.len; k++) {
      if (a->products.data[i] == b->products.data[k]) return true;
    }
  }
  return false;
}
