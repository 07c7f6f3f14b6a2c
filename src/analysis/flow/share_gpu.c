/* Buffer sharing on GPUs (GpuAliasInfo::MayAlias and NVPTXAliasInfo::MayAlias in
 * xla/service/gpu/alias_info.cc, nvptx_alias_info.cc): a fusion may overwrite an operand that it
 * reads in the order in which it writes the result.
 *
 * In a fusion that the emitter of reductions runs, one reduction is computed first, so that other
 * results may take the memory of an operand that it reads in another order. Which fusions these are
 * depends on the device; here they are those of the kind kInput. */
#include "analysis/flow/backend_config.h"
#include "analysis/flow/in_place_internal.h"
#include "ir/hash.h"

/* ---- fusions ---- */

typedef struct Walk {
  const Module *module;
  InstId user;         /* the fusion */
  uint32_t user_part;  /* part of its result */
  InstId output;       /* the fused instruction that computes this part */
  InstId root;         /* the same, or its operand if it is a bitcast */
  VEC(InstId) reached; /* instructions reached from the parameter */
  IdTable seen;
  Arena *scratch;
} Walk;

static void reach(Walk *walk, InstId id) {
  if (!id_set_add(&walk->seen, walk->scratch, id)) return;
  *vec_push(walk->scratch, &walk->reached) = id;
}

/* A dynamic-slice of the array that the root updates is the same slice, or both have one
 * element. */
static bool is_same_slice(const Walk *walk, InstId slice) {
  const Module *module = walk->module;
  InstId update = inst_operand(module, walk->root, 1);
  if (inst_shape(module, slice)->num_elements == 1 && inst_shape(module, update)->num_elements == 1)
    return true;
  for (uint32_t i = 1; i < inst_get(module, slice)->num_operands; i++) {
    if (inst_operand(module, slice, i) != inst_operand(module, walk->root, i + 1)) return false;
  }
  return true;
}

static bool is_slice_of_updated(const Walk *walk, InstId id) {
  const Module *module = walk->module;
  return inst_get(module, walk->root)->opcode == OPCODE_DYNAMIC_UPDATE_SLICE &&
         inst_get(module, id)->opcode == OPCODE_DYNAMIC_SLICE &&
         inst_operand(module, walk->root, 0) == inst_operand(module, id, 0) &&
         inst_get(module, id)->shape ==
             inst_get(module, inst_operand(module, walk->root, 1))->shape;
}

/* Whether `id` reads `operand`, at the first index if it is an operand several times, in the order
 * in which the result is written. */
static bool keeps_order(const Walk *walk, InstId id, InstId operand) {
  const Module *module = walk->module;
  const Instruction *inst = inst_get(module, id);
  uint32_t first = 0, count = inst_count_operand(module, id, operand);
  while (inst_operand(module, id, first) != operand)
    first++;
  if (id == walk->root && inst->opcode == OPCODE_SCATTER && count == 1) {
    const Shape *shape = inst_shape(module, id);
    if (first < (shape_is_tuple(shape) ? shape->rank : 1)) return true;
  }
  if (id == walk->root && inst->opcode == OPCODE_SORT && count == 1) {
    const Shape *shape = inst_shape(module, walk->user);
    return shape_is_tuple(shape) && first < shape->rank &&
           walk->user_part == shape->element_offsets[first];
  }
  if (is_slice_of_updated(walk, id)) return is_same_slice(walk, id);
  if (inst->opcode == OPCODE_BITCAST || inst->opcode == OPCODE_TUPLE) return true;
  if (inst->opcode != OPCODE_COPY && is_elementwise_on(module, id, first, 0, walk->scratch))
    return true;
  return id == walk->root && inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE && first == 1;
}

/* Whether the result is written in the order of a transposed operand. */
static bool is_transposed(const Module *module, InstId id) {
  for (;;) {
    const Instruction *inst = inst_get(module, id);
    if (inst->opcode == OPCODE_TRANSPOSE || inst->opcode == OPCODE_COPY) return true;
    bool is_trivial =
        inst->num_operands == 1 &&
        (inst->opcode == OPCODE_BITCAST || opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE));
    if (!is_trivial) return false;
    id = inst_operand(module, id, 0);
  }
}

/* Other results of the fusion may also depend on the parameter if they are written in the same
 * order. */
static bool reaches_others_in_order(const Walk *walk) {
  const Module *module = walk->module;
  InstId root = comp_get(module, inst_callees(module, walk->user)[0])->root;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return true;
  bool is_other_reached = false, is_transposed_reached = false;
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    InstId id = inst_operand(module, root, i);
    if (!id_set_has(&walk->seen, id)) continue;
    is_other_reached |= id != walk->output;
    is_transposed_reached |= is_transposed(module, id);
  }
  if (!is_other_reached) return true;
  return opcode_has((Opcode)inst_get(module, walk->root)->opcode, OPF_ELEMENTWISE) &&
         !is_transposed_reached;
}

/* In a fusion that the emitter of reductions runs, the first of them that is a result is computed
 * before the other results, which may take the memory of what it reads
 * (HloFusionAnalysis::FindHeroReduction). Further reductions are results as others are. */
static bool is_computed_first(const Walk *walk, InstId id) {
  const Module *module = walk->module;
  InstId root = comp_get(module, inst_callees(module, walk->user)[0])->root;
  if (inst_get(module, id)->opcode != OPCODE_REDUCE || id == walk->root) return false;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return false;
  if (inst_attr_int(module, walk->user, ATTR_FUSION_KIND, FUSION_CUSTOM) != FUSION_INPUT)
    return false;
  for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++) {
    InstId result = inst_operand(module, root, i);
    if (inst_get(module, result)->opcode == OPCODE_REDUCE) return result == id;
  }
  return false;
}

static ShareHint fusion_hint(const Module *module, InstId user, uint32_t user_part, InstId param,
                             Arena *scratch) {
  const Computation *fused = comp_get(module, inst_callees(module, user)[0]);
  Walk walk = {.module = module,
               .user = user,
               .user_part = user_part,
               .output = fused->root,
               .scratch = scratch};
  for (uint32_t part = user_part; part && inst_get(module, walk.output)->opcode == OPCODE_TUPLE;) {
    const Shape *tuple = inst_shape(module, walk.output);
    uint32_t element = shape_element_of_part(tuple, part);
    part -= tuple->element_offsets[element];
    walk.output = inst_operand(module, walk.output, element);
  }
  walk.root = walk.output;
  if (inst_get(module, walk.root)->opcode == OPCODE_BITCAST) {
    walk.root = inst_operand(module, walk.root, 0);
  }
  reach(&walk, param);
  for (uint32_t i = 0; i < walk.reached.len; i++) {
    IdList users = inst_get(module, walk.reached.data[i])->users;
    for (uint32_t k = 0; k < users.len; k++) {
      InstId next = id_list(module, users)[k];
      if (is_computed_first(&walk, next)) continue;
      reach(&walk, next);
      if (!keeps_order(&walk, next, walk.reached.data[i])) return SHARE_NO;
    }
  }
  return id_set_has(&walk.seen, walk.output) && reaches_others_in_order(&walk) ? SHARE_YES
                                                                               : SHARE_NO;
}

/* The shapes may differ in type and layout if they have as many elements of the same width. */
static bool has_same_elements(const Shape *a, const Shape *b) {
  return a->kind == SHAPE_ARRAY && b->kind == SHAPE_ARRAY && a->num_elements == b->num_elements &&
         type_info(a->type)->bits == type_info(b->type)->bits;
}

/* ---- other instructions ---- */

/* cublasLt adds the product to its third operand in place, unless the factor beta is 0. */
static bool is_bias(const Module *module, InstId user, uint32_t user_part, uint32_t index) {
  const Shape *shape = inst_shape(module, user);
  bool is_first = shape_is_tuple(shape) && shape->rank && user_part == shape->element_offsets[0];
  if (index != 2 || !is_first) return false;
  if (!str_is(inst_attr_string(module, user, ATTR_CUSTOM_CALL_TARGET), "__cublas$lt$matmul"))
    return false;
  if (inst_count_operand(module, user, inst_operand(module, user, index)) != 1) return false;
  BackendConfig config = backend_config_read(module, user, "gemm_backend_config");
  const cJSON *gemm = cJSON_GetObjectItemCaseSensitive(config.json, "gemm_backend_config");
  const cJSON *beta = cJSON_GetObjectItemCaseSensitive(gemm, "beta");
  bool has_beta = cJSON_IsNumber(beta) && beta->valuedouble != 0;
  backend_config_free(&config);
  return has_beta;
}

ShareHint gpu_share_hint(const Module *module, InstId user, uint32_t user_part, uint32_t index,
                         Arena *scratch) {
  const Instruction *inst = inst_get(module, user);
  const Shape *shape = inst_shape(module, user);
  switch (inst->opcode) {
    case OPCODE_ALL_REDUCE:
    case OPCODE_COLLECTIVE_BROADCAST: {
      bool is_own = shape_is_tuple(shape) && index < shape->rank &&
                    user_part == shape->element_offsets[index];
      return inst->num_operands == 1 || is_own ? SHARE_YES : SHARE_NO;
    }
    case OPCODE_CUSTOM_CALL: return is_bias(module, user, user_part, index) ? SHARE_YES : SHARE_NO;
    case OPCODE_FUSION: {
      InstId param = fused_param(module, user, index);
      if (param == NO_ID) return SHARE_NO;
      const Shape *result =
          shape_get(&module->shapes, shape_part(&module->shapes, inst->shape, user_part));
      if (!has_same_elements(result, inst_shape(module, inst_operand(module, user, index)))) {
        return SHARE_NO;
      }
      ArenaMark mark = arena_mark(scratch);
      ShareHint hint = fusion_hint(module, user, user_part, param, scratch);
      arena_reset(scratch, mark);
      return hint;
    }
    default: return SHARE_UNDECIDED;
  }
}
