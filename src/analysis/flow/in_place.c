/* In-place operations: which results must overwrite an operand, and which may. */
#include <stdlib.h>

#include "analysis/flow/alias.h"
#include "analysis/flow/backend_config.h"
#include "analysis/flow/in_place_internal.h"
#include "ir/target.h"

enum { MAX_FUSION_NESTING = 8 }; /* fusions nested deeper are not analysed */

typedef struct Place {
  InstId inst;
  uint32_t part;
} Place;

/* AliasInfo::IsNoOpForAliasAnalysis. */
static bool only_passes_on(const Module *module, InstId id) {
  uint16_t opcode = inst_get(module, id)->opcode;
  return opcode == OPCODE_BITCAST ||
         (opcode == OPCODE_RESHAPE && module->backend.target->gpu_sharing);
}

/* Goes back through tuples, then get-tuple-elements, then bitcasts of arrays, as XLA does. */
static Place follow_indirections(const Module *module, Place place) {
  while (inst_get(module, place.inst)->opcode == OPCODE_TUPLE && place.part != 0) {
    const Shape *tuple = inst_shape(module, place.inst);
    uint32_t element = shape_element_of_part(tuple, place.part);
    place.part -= tuple->element_offsets[element];
    place.inst = inst_operand(module, place.inst, element);
  }
  while (inst_get(module, place.inst)->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    InstId tuple = inst_operand(module, place.inst, 0);
    place.part += inst_shape(module, tuple)->element_offsets[inst_get(module, place.inst)->index];
    place.inst = tuple;
  }
  while (only_passes_on(module, place.inst) && place.part == 0) {
    place.inst = inst_operand(module, place.inst, 0);
  }
  return place;
}

static void add(InPlacePairs *pairs, Arena *out, uint32_t operand, uint32_t operand_part,
                uint32_t output_part) {
  *vec_push(out, &pairs->list) = (InPlacePair){operand, operand_part, output_part};
}

/* Pairs operands 0 … count-1 with the result, or with its elements if there are several. */
static void add_default(const Module *module, InstId id, uint32_t count, InPlacePairs *pairs,
                        Arena *out) {
  const Shape *shape = inst_shape(module, id);
  if (count == 1) {
    add(pairs, out, 0, 0, 0);
    return;
  }
  for (uint32_t i = 0; i < count && shape_is_tuple(shape) && i < shape->rank; i++) {
    add(pairs, out, i, 0, shape->element_offsets[i]);
  }
}

void annotated_alias_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out) {
  IntSlice ints = inst_attr_ints(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING);
  const Instruction *inst = inst_get(module, id);
  for (uint32_t i = 0; i < ints.len;) {
    AliasPair pair;
    i += alias_pair_read(ints.data + i, &pair);
    if (pair.operand < 0 || pair.operand >= inst->num_operands) continue;
    uint32_t operand = (uint32_t)pair.operand;
    ShapeId operand_shape = inst_get(module, inst_operand(module, id, operand))->shape;
    uint32_t to = shape_index_part(&module->shapes, inst->shape, pair.output, pair.output_len);
    uint32_t from = shape_index_part(&module->shapes, operand_shape, pair.input, pair.input_len);
    if (to != NO_ID && from != NO_ID) add(pairs, out, operand, from, to);
  }
}

/* The in-place operand of a permute with slices: the second of four. */
static void add_permute(const Module *module, InstId id, InPlacePairs *pairs, Arena *out) {
  const Shape *shape = inst_shape(module, id);
  if (inst_get(module, id)->num_operands != 4) return;
  if (!inst_attr(module, id, ATTR_PERMUTE_SLICE_SIZES)) return;
  uint32_t output = 0;
  if (inst_get(module, id)->opcode == OPCODE_COLLECTIVE_PERMUTE_START) {
    if (!shape_is_tuple(shape) || shape->rank < 2) return;
    output = shape->element_offsets[1];
  }
  const Shape *operand = inst_shape(module, inst_operand(module, id, 1));
  for (uint32_t part = 0; part < operand->num_parts && output + part < shape->num_parts; part++) {
    add(pairs, out, 1, part, output + part);
  }
}

static void add_fusion(const Module *module, InstId id, InPlacePairs *pairs, Arena *out,
                       int nesting);

static void add_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out,
                      int nesting) {
  const Instruction *inst = inst_get(module, id);
  switch (inst->opcode) {
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_SET_DIMENSION_SIZE: add(pairs, out, 0, 0, 0); break;
    case OPCODE_SCATTER: add_default(module, id, inst->num_operands / 2, pairs, out); break;
    case OPCODE_ALL_REDUCE_START: add_default(module, id, inst->num_operands, pairs, out); break;
    case OPCODE_RAGGED_ALL_TO_ALL:
      if (inst->num_operands > 1) add(pairs, out, 1, 0, 0);
      break;
    case OPCODE_COLLECTIVE_PERMUTE:
    case OPCODE_COLLECTIVE_PERMUTE_START: add_permute(module, id, pairs, out); break;
    case OPCODE_CUSTOM_CALL:
    case OPCODE_ASYNC_START:
    case OPCODE_ASYNC_UPDATE: annotated_alias_pairs(module, id, pairs, out); break;
    case OPCODE_FUSION:
      if (nesting < MAX_FUSION_NESTING) add_fusion(module, id, pairs, out, nesting);
      annotated_alias_pairs(module, id, pairs, out);
      break;
    default: break;
  }
}

/* The source of the operand of an in-place operation inside a fusion: a parameter, perhaps through
 * a nested fusion that works in place itself. */
static Place in_place_source(const Module *module, Place place, Arena *out, int nesting) {
  place = follow_indirections(module, place);
  if (inst_get(module, place.inst)->opcode != OPCODE_FUSION) return place;
  InPlacePairs nested = {0};
  add_pairs(module, place.inst, &nested, out, nesting + 1);
  for (uint32_t i = 0; i < nested.list.len; i++) {
    InPlacePair pair = nested.list.data[i];
    if (pair.output_part != place.part) continue;
    Place inner = {inst_operand(module, place.inst, pair.operand), pair.operand_part};
    return follow_indirections(module, inner);
  }
  return place;
}

/* For each array that a fusion returns, finds the operation that computes it. If that operation
 * works in place and its operand is a parameter, they are a pair. */
static void add_fusion(const Module *module, InstId id, InPlacePairs *pairs, Arena *out,
                       int nesting) {
  const Shape *shape = inst_shape(module, id);
  InstId root = comp_get(module, inst_callees(module, id)[0])->root;
  for (uint32_t part = 0; part < shape->num_parts; part++) {
    if (shape_is_tuple(shape_get(&module->shapes,
                                 shape_part(&module->shapes, inst_get(module, id)->shape, part)))) {
      continue;
    }
    Place output = follow_indirections(module, (Place){root, part});
    InPlacePairs inner = {0};
    bool is_fusion = inst_get(module, output.inst)->opcode == OPCODE_FUSION;
    if (is_fusion && nesting < MAX_FUSION_NESTING) {
      add_fusion(module, output.inst, &inner, out, nesting + 1);
    } else if (!is_fusion) {
      add_pairs(module, output.inst, &inner, out, nesting + 1);
    }
    for (uint32_t i = 0; i < inner.list.len; i++) {
      InPlacePair pair = inner.list.data[i];
      if (pair.output_part != output.part) continue;
      Place source = {inst_operand(module, output.inst, pair.operand), pair.operand_part};
      source = in_place_source(module, source, out, nesting);
      const Instruction *inst = inst_get(module, source.inst);
      if (inst->opcode == OPCODE_PARAMETER) {
        add(pairs, out, (uint32_t)inst->index, source.part, part);
      }
    }
  }
}

/* Whether two arrays are in the same memory space and take as many bytes of it. */
static bool takes_same_memory(const Module *module, ShapeId a, ShapeId b) {
  const Target *target = module->backend.target;
  const Shape *one = shape_get(&module->shapes, a), *other = shape_get(&module->shapes, b);
  return a == b || (shape_is_array(one) && shape_is_array(other) &&
                    target_bytes(target, one) == target_bytes(target, other) &&
                    target_memory_space(target, one) == target_memory_space(target, other));
}

/* XLA:TPU notes which operands' memory a result may share before it knows what else reads them. A
 * result does not share what is read later, by instructions that were read from the text in this
 * order, or as what a loop carries on; what was added must come first. */
static bool is_read_later(const Module *module, InstId id, InstId operand) {
  IdList users = inst_get(module, operand)->users;
  for (uint32_t i = users.len; i-- > 0;) {
    InstId user = id_list(module, users)[i];
    if (user > id && !(inst_get(module, user)->flags & INST_REMAT)) return true;
  }
  return false;
}

/* Adds the pairs of a list of numbers in XLA:TPU's `aliasing_operands`, where the parts of the
 * result that are arrays follow the operands: {"indices":["3","14"]} with 12 operands is operand 3
 * and the third array of the result. */
static void add_noted_list(const Module *module, InstId id, const cJSON *indices,
                           InPlacePairs *pairs, Arena *out) {
  const Instruction *inst = inst_get(module, id);
  const cJSON *first = indices ? indices->child : NULL, *second = first ? first->next : NULL;
  if (!second || !cJSON_IsString(first) || !cJSON_IsString(second)) return;
  long operand = strtol(first->valuestring, NULL, 10);
  long number = strtol(second->valuestring, NULL, 10) - inst->num_operands;
  if (operand < 0 || operand >= inst->num_operands || number < 0) return;
  for (uint32_t part = 0; part < inst_shape(module, id)->num_parts; part++) {
    ShapeId shape = shape_part(&module->shapes, inst->shape, part);
    if (shape_is_tuple(shape_get(&module->shapes, shape)) || number-- > 0) continue;
    InstId source = inst_operand(module, id, (uint32_t)operand);
    bool is_same = takes_same_memory(module, inst_get(module, source)->shape, shape);
    for (uint32_t i = 0; i < pairs->list.len; i++)
      is_same &= pairs->list.data[i].output_part != part;
    if (is_same && !is_read_later(module, id, source)) add(pairs, out, (uint32_t)operand, 0, part);
    return;
  }
}

static void add_noted_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out) {
  BackendConfig config = backend_config_read(module, id, "\"indices\"");
  const cJSON *noted = cJSON_GetObjectItemCaseSensitive(config.json, "aliasing_operands");
  const cJSON *list, *lists = cJSON_GetObjectItemCaseSensitive(noted, "lists");
  cJSON_ArrayForEach(list, lists) {
    add_noted_list(module, id, cJSON_GetObjectItemCaseSensitive(list, "indices"), pairs, out);
  }
  backend_config_free(&config);
}

void in_place_pairs(const Module *module, InstId id, InPlacePairs *pairs, Arena *out) {
  add_pairs(module, id, pairs, out, 0);
  if (module->backend.target->has_spaces) add_noted_pairs(module, id, pairs, out);
}

/* ---- sharing that is allowed, not required ---- */

static bool uses_are_elementwise(const Module *module, InstId param, bool allows_tuples,
                                 int nesting, Arena *scratch);

/* A map over dimensions 0, 1, … of all dimensions, or without the attribute. */
static bool is_plain_map(const Module *module, InstId id) {
  IntSlice dims = inst_attr_ints(module, id, ATTR_DIMENSIONS);
  for (uint32_t i = 0; i < dims.len; i++) {
    if (dims.data[i] != i) return false;
  }
  return dims.len == 0 || dims.len == inst_shape(module, id)->rank;
}

InstId fused_param(const Module *module, InstId fusion, uint32_t operand) {
  IdList params = comp_get(module, inst_callees(module, fusion)[0])->params;
  return operand < params.len ? id_list(module, params)[operand] : NO_ID;
}

bool is_elementwise_on(const Module *module, InstId user, uint32_t operand, int nesting,
                       Arena *scratch) {
  const Instruction *inst = inst_get(module, user);
  switch (inst->opcode) {
    case OPCODE_DYNAMIC_UPDATE_SLICE: return operand == 0;
    case OPCODE_BITCAST_CONVERT: {
      const Shape *from = inst_shape(module, inst_operand(module, user, 0));
      return type_info(inst_shape(module, user)->type)->bits == type_info(from->type)->bits;
    }
    case OPCODE_FUSION: {
      InstId param = fused_param(module, user, operand);
      return nesting < MAX_FUSION_NESTING && param != NO_ID &&
             uses_are_elementwise(module, param, false, nesting + 1, scratch);
    }
    case OPCODE_MAP: return is_plain_map(module, user);
    default: return opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE);
  }
}

/* Whether every transitive use of a fused parameter is elementwise on it, or, if `allows_tuples`, a
 * tuple. */
static bool uses_are_elementwise(const Module *module, InstId param, bool allows_tuples,
                                 int nesting, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  VEC(InstId) stack = {0};
  IdTable seen = {0};
  *vec_push(scratch, &stack) = param;
  bool ok = true;
  while (ok && stack.len) {
    InstId current = stack.data[--stack.len];
    IdList users = inst_get(module, current)->users;
    for (uint32_t i = 0; ok && i < users.len; i++) {
      InstId user = id_list(module, users)[i];
      bool is_tuple = allows_tuples && inst_get(module, user)->opcode == OPCODE_TUPLE;
      for (uint32_t k = 0; ok && k < inst_get(module, user)->num_operands; k++) {
        if (inst_operand(module, user, k) != current) continue;
        ok = is_tuple || is_elementwise_on(module, user, k, nesting, scratch);
      }
      if (id_set_add(&seen, scratch, user)) *vec_push(scratch, &stack) = user;
    }
  }
  arena_reset(scratch, mark);
  return ok;
}

/* An output fusion that adds a parameter to a dot or convolution may do so in place. */
static bool is_added_to_product(const Module *module, InstId user, InstId param) {
  InstId root = comp_get(module, inst_callees(module, user)[0])->root;
  if (inst_get(module, root)->opcode != OPCODE_ADD) return false;
  for (uint32_t i = 0; i < 2; i++) {
    Opcode opcode = (Opcode)inst_get(module, inst_operand(module, root, i))->opcode;
    if (opcode != OPCODE_CONVOLUTION && opcode != OPCODE_DOT) continue;
    return inst_get(module, param)->users.len == 1 && inst_users(module, param)[0] == root &&
           inst_operand(module, root, 1 - i) == param && inst_operand(module, root, i) != param;
  }
  return false;
}

static bool can_share_fusion(const Module *module, InstId user, uint32_t operand, bool *decided,
                             Arena *scratch) {
  const Computation *fused = comp_get(module, inst_callees(module, user)[0]);
  InstId param = fused_param(module, user, operand);
  int64_t kind = inst_attr_int(module, user, ATTR_FUSION_KIND, FUSION_CUSTOM);
  *decided = true;
  if (param == NO_ID) return false;
  if (kind == FUSION_LOOP || kind == FUSION_INPUT) {
    return uses_are_elementwise(module, param, true, 0, scratch);
  }
  if (kind == FUSION_OUTPUT && inst_get(module, fused->root)->opcode == OPCODE_ADD) {
    return is_added_to_product(module, user, param);
  }
  *decided = false;
  return false;
}

typedef struct CallUses {
  const Module *module;
  InstId call;
  InstId root;
  uint32_t num_uses;
  Arena *scratch;
  bool by_call;
  bool by_root_elementwise;
} CallUses;

static void count_call_use(void *context, InstId user, HloPosition position) {
  CallUses *uses = context;
  for (uint32_t i = 0; i < inst_get(uses->module, user)->num_operands; i++) {
    if (inst_operand(uses->module, user, i) != position.inst) continue;
    uses->num_uses++;
    uses->by_call |= user == uses->call;
    uses->by_root_elementwise |=
        user == uses->root && is_elementwise_on(uses->module, user, i, 0, uses->scratch);
  }
}

static bool is_in_place(const Module *module, InstId operand, uint32_t operand_part, InstId user,
                        uint32_t user_part, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  InPlacePairs pairs = {0};
  in_place_pairs(module, user, &pairs, scratch);
  bool found = false;
  for (uint32_t i = 0; i < pairs.list.len && !found; i++) {
    InPlacePair pair = pairs.list.data[i];
    found = pair.output_part == user_part && pair.operand_part == operand_part &&
            inst_operand(module, user, pair.operand) == operand;
  }
  arena_reset(scratch, mark);
  return found;
}

bool can_share_operand_buffer(const Module *module, const Dataflow *dataflow, InstId operand,
                              uint32_t operand_part, InstId user, uint32_t user_part,
                              Arena *scratch) {
  const ShapeTable *shapes = &module->shapes;
  const Instruction *inst = inst_get(module, user);
  if (inst_get(module, operand)->opcode == OPCODE_CONSTANT) return false;
  /* A table of pointers takes nobody's memory. It may have so many operands that counting them for
   * each operand would be quadratic. */
  if (inst->opcode == OPCODE_TUPLE) return false;
  ShapeId from = shape_part(shapes, inst_get(module, operand)->shape, operand_part);
  ShapeId to = shape_part(shapes, inst->shape, user_part);
  bool has_same_shape = from == to;
  bool may_differ = module->backend.target->has_spaces && takes_same_memory(module, from, to);
  if ((has_same_shape || may_differ) &&
      is_in_place(module, operand, operand_part, user, user_part, scratch)) {
    return true;
  }
  uint32_t count = inst_count_operand(module, user, operand), first = 0;
  while (first < inst->num_operands && inst_operand(module, user, first) != operand)
    first++;
  if (module->backend.target->gpu_sharing && first < inst->num_operands) {
    ShareHint hint = gpu_share_hint(module, user, user_part, first, scratch);
    if (hint != SHARE_UNDECIDED) return hint == SHARE_YES;
  }
  if (!has_same_shape) return false;
  switch (inst->opcode) {
    case OPCODE_FUSION: {
      bool decided;
      bool shared = can_share_fusion(module, user, first, &decided, scratch);
      if (decided) return shared;
      break;
    }
    case OPCODE_WHILE:
    case OPCODE_CONDITIONAL: return true;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_SCATTER:
    case OPCODE_SET_DIMENSION_SIZE: return count == 1 && first == 0;
    case OPCODE_TRIANGULAR_SOLVE: return count == 1 && first == 1;
    case OPCODE_SORT:
      if (inst_get(module, operand)->users.len != 1) return false;
      if (inst->num_operands == 1) return true;
      return count == 1 && shape_is_tuple(inst_shape(module, user)) &&
             user_part == inst_shape(module, user)->element_offsets[first];
    case OPCODE_CALL: {
      CallUses uses = {.module = module,
                       .call = user,
                       .root = comp_get(module, inst_callees(module, user)[0])->root,
                       .scratch = scratch};
      dataflow_visit_uses(module, dataflow, dataflow_value(dataflow, operand, operand_part),
                          count_call_use, &uses);
      return uses.num_uses == 2 && uses.by_call && uses.by_root_elementwise;
    }
    default: break;
  }
  return is_elementwise_on(module, user, first, 0, scratch);
}
