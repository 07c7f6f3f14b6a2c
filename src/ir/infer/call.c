/* Rules for opcodes whose result depends on the computations that they call. */
#include "ir/infer/infer_shape_internal.h"

#include <inttypes.h>

static bool fail_num_params(Inference *inf, const char *role, uint32_t wanted, CompId comp) {
  return infer_fail(inf, "%s takes %u parameters, not %u", role, infer_num_params(inf, comp),
                    wanted);
}

static bool is_pred(Inference *inf, ShapeId shape) {
  return shape_get(inf->shapes, shape)->compatible == shape_scalar(inf->shapes, TYPE_PRED);
}

/* ---- call, while, conditional ---- */

bool infer_call(Inference *inf) {
  CompId comp = inf->spec->callees[0];
  uint32_t count = inf->spec->num_operands;
  if (infer_num_params(inf, comp) != count) {
    return fail_num_params(inf, "its computation", count, comp);
  }
  for (uint32_t i = 0; i < count; i++) {
    ShapeId operand = infer_operand_id(inf, i), param = infer_param(inf, comp, i);
    if (!infer_compatible(inf, operand, param, TYPES_EQUAL)) {
      return infer_fail(inf, "operand %u is %s, the computation's parameter %s", i,
                        infer_shown(inf, operand), infer_shown(inf, param));
    }
  }
  inf->result = infer_comp_result(inf, comp);
  return true;
}

bool infer_while(Inference *inf) {
  CompId body = inf->spec->callees[0], condition = inf->spec->callees[1];
  if (infer_num_params(inf, condition) != 1) {
    return fail_num_params(inf, "its condition", 1, condition);
  }
  if (infer_num_params(inf, body) != 1) return fail_num_params(inf, "its body", 1, body);
  ShapeId decision = infer_comp_result(inf, condition);
  if (!is_pred(inf, decision)) {
    return infer_fail(inf, "its condition returns %s, not pred[]", infer_shown(inf, decision));
  }
  ShapeId state = infer_comp_result(inf, body), init = infer_operand_id(inf, 0);
  ShapeId others[] = {infer_param(inf, condition, 0), infer_param(inf, body, 0), init};
  static const char *const names[] = {"its condition takes", "its body takes", "its operand is"};
  for (int i = 0; i < 3; i++) {
    if (!infer_compatible(inf, state, others[i], TYPES_EQUAL)) {
      return infer_fail(inf, "its body returns %s, %s %s", infer_shown(inf, state), names[i],
                        infer_shown(inf, others[i]));
    }
  }
  inf->result = init;
  return true;
}

/* Returns `shape`, from the first branch, with the dynamic dimensions that the shape `other` of
 * another branch has in addition. */
static ShapeId with_dynamic_dims(Inference *inf, ShapeId shape, ShapeId other) {
  const Shape *from = shape_get(inf->shapes, other);
  if (!shape_is_array(from) || !from->dynamic) return shape;
  Draft draft;
  draft_begin(inf, &draft, shape_get(inf->shapes, shape));
  for (uint32_t i = 0; i < from->rank; i++)
    draft.dynamic[i] |= dim_is_dynamic(from, i);
  return draft_finish(inf, &draft);
}

/* Adds the dynamic dimensions of a branch to all parts of a tuple. It starts with the last part, so
 * elements are made before their tuple. */
static bool merge_branch(Inference *inf, ShapeId *result, ShapeId branch) {
  const Shape *whole = shape_get(inf->shapes, *result);
  if (*result == branch) return true;
  if (!shape_is_tuple(whole)) {
    *result = with_dynamic_dims(inf, *result, branch);
    return true;
  }
  uint32_t num_parts = whole->num_parts;
  ShapeId *parts = arena_array(inf->scratch, ShapeId, num_parts);
  ShapeId *others = arena_array(inf->scratch, ShapeId, num_parts);
  ShapeId *elements = arena_array(inf->scratch, ShapeId, num_parts);
  shape_list_parts(inf->shapes, *result, parts);
  shape_list_parts(inf->shapes, branch, others);
  for (uint32_t part = num_parts; part-- > 0;) {
    const Shape *shape = shape_get(inf->shapes, parts[part]);
    if (!shape_is_tuple(shape)) {
      parts[part] = with_dynamic_dims(inf, parts[part], others[part]);
      continue;
    }
    for (uint32_t i = 0; i < shape->rank; i++)
      elements[i] = parts[part + shape->element_offsets[i]];
    if (!infer_join_tuple(inf, elements, shape->rank, &parts[part])) return false;
  }
  *result = parts[0];
  return true;
}

bool infer_conditional(Inference *inf) {
  ShapeId first = infer_comp_result(inf, inf->spec->callees[0]);
  for (uint32_t i = 0; i < inf->spec->num_callees; i++) {
    CompId branch = inf->spec->callees[i];
    ShapeId operand = infer_operand_id(inf, i + 1), result = infer_comp_result(inf, branch);
    if (infer_num_params(inf, branch) != 1) {
      return infer_fail(inf, "branch %u takes %u parameters, not 1", i,
                        infer_num_params(inf, branch));
    }
    ShapeId param = infer_param(inf, branch, 0);
    if (!infer_compatible(inf, param, operand, TYPES_EQUAL)) {
      return infer_fail(inf, "branch %u takes %s, its operand is %s", i, infer_shown(inf, param),
                        infer_shown(inf, operand));
    }
    if (!infer_compatible(inf, first, result, TYPES_EQUAL)) {
      return infer_fail(inf, "branch 0 returns %s, branch %u returns %s", infer_shown(inf, first),
                        i, infer_shown(inf, result));
    }
  }
  inf->result = first;
  for (uint32_t i = 1; i < inf->spec->num_callees; i++) {
    ShapeId result = infer_comp_result(inf, inf->spec->callees[i]);
    if (!merge_branch(inf, &inf->result, result)) return false;
  }
  return true;
}

/* ---- map ---- */

/* Finds the shape that all operands have, apart from their element types. A scalar may be used in
 * place of an array of its type. */
static bool find_mapped_shape(Inference *inf, ShapeId *mapped) {
  *mapped = infer_operand_id(inf, 0);
  if (!infer_expect_arrays(inf, 1, inf->spec->num_operands - 1)) return false;
  for (uint32_t i = 1; i < inf->spec->num_operands; i++) {
    ShapeId operand = infer_operand_id(inf, i);
    const Shape *shape = shape_get(inf->shapes, operand), *so_far = shape_get(inf->shapes, *mapped);
    if (infer_compatible(inf, operand, *mapped, TYPES_ANY)) continue;
    bool same_type = type_same_up_to_precision(shape->type, infer_type(so_far));
    if (same_type && shape->rank == 0) continue;
    if (!same_type || !shape_has_no_dims(so_far)) {
      return infer_fail(inf, "an operand is %s, operand %u is %s", infer_shown(inf, *mapped), i,
                        infer_shown(inf, operand));
    }
    *mapped = operand;
  }
  const Shape *shape = shape_get(inf->shapes, *mapped);
  return shape_has_dims(shape) ||
         infer_fail(inf, "operand 0 is %s, not an array", infer_shown(inf, *mapped));
}

static bool check_mapped_comp(Inference *inf, CompId comp) {
  uint32_t count = inf->spec->num_operands;
  if (infer_num_params(inf, comp) != count) {
    return fail_num_params(inf, "its computation", count, comp);
  }
  ShapeId result = infer_comp_result(inf, comp);
  if (!shape_has_no_dims(shape_get(inf->shapes, result))) {
    return infer_fail(inf, "its computation returns %s, not a scalar", infer_shown(inf, result));
  }
  for (uint32_t i = 0; i < count; i++) {
    ShapeId id = infer_param(inf, comp, i);
    const Shape *param = shape_get(inf->shapes, id);
    if (!shape_has_no_dims(param) ||
        !type_same_up_to_precision(param->type, infer_operand(inf, i)->type)) {
      return infer_fail(inf, "parameter %u of its computation is %s, the operand %s", i,
                        infer_shown(inf, id), infer_shown(inf, infer_operand_id(inf, i)));
    }
  }
  return true;
}

bool infer_map(Inference *inf) {
  CompId comp = inf->spec->callees[0];
  if (inf->spec->num_operands == 0) return infer_fail(inf, "it has no operands");
  if (!infer_attr(inf, ATTR_DIMENSIONS)) {
    return infer_fail(inf, "it lacks the attribute 'dimensions'");
  }
  ShapeId mapped;
  if (!find_mapped_shape(inf, &mapped)) return false;
  const Shape *shape = shape_get(inf->shapes, mapped);
  IntSlice dimensions = infer_ints(inf, ATTR_DIMENSIONS);
  bool is_all = dimensions.len == shape->rank;
  for (uint32_t i = 0; is_all && i < dimensions.len; i++)
    is_all = dimensions.data[i] == i;
  if (!is_all) return infer_fail(inf, "it must name all dimensions of its operands, in order");
  if (!check_mapped_comp(inf, comp)) return false;
  Dims dims = dims_new(inf, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    dims_push_from(&dims, shape, i);
  ElementType type = (ElementType)shape_get(inf->shapes, infer_comp_result(inf, comp))->type;
  return infer_make_array(inf, type, &dims, &inf->result);
}

/* ---- reducers ---- */

/* Returns the shape of the computation's result, or of its element `i` if the result is a tuple. */
static ShapeId accumulator(const Inference *inf, CompId comp, uint32_t i) {
  ShapeId result = infer_comp_result(inf, comp);
  const Shape *shape = shape_get(inf->shapes, result);
  return shape_is_tuple(shape) ? shape->elements[i] : result;
}

static bool check_accumulator(Inference *inf, CompId comp, const ReducerInput *inputs,
                              uint32_t count, uint32_t i) {
  ShapeId id = accumulator(inf, comp, i);
  const Shape *sum = shape_get(inf->shapes, id);
  const Shape *init = shape_get(inf->shapes, inputs[i].init);
  ShapeId param_id = infer_param(inf, comp, i), element_id = infer_param(inf, comp, count + i);
  const Shape *element = shape_get(inf->shapes, element_id);
  if (!shape_is_scalar(sum) || shape_get(inf->shapes, param_id)->compatible != sum->compatible) {
    return infer_fail(inf, "its computation takes %s and returns %s for it",
                      infer_shown(inf, param_id), infer_shown(inf, id));
  }
  if (!shape_is_scalar(init) || !type_same_up_to_precision(init->type, sum->type)) {
    return infer_fail(inf, "its computation accumulates %s, the initial value is %s",
                      infer_shown(inf, id), infer_shown(inf, inputs[i].init));
  }
  if (!shape_is_scalar(element) || !type_same_up_to_precision(element->type, sum->type) ||
      !type_same_up_to_precision(element->type, inputs[i].type)) {
    return infer_fail(inf, "its computation takes %s for elements of type %s",
                      infer_shown(inf, element_id), infer_type_text(inputs[i].type));
  }
  return true;
}

bool infer_check_reducer(Inference *inf, CompId comp, const ReducerInput *inputs, uint32_t count) {
  if (infer_num_params(inf, comp) != (uint64_t)count * 2) {
    return infer_fail(inf, "its computation takes %u parameters, not two for each of %u inputs",
                      infer_num_params(inf, comp), count);
  }
  ShapeId id = infer_comp_result(inf, comp);
  const Shape *result = shape_get(inf->shapes, id);
  bool fits = shape_is_tuple(result) ? result->rank == count : count == 1;
  if (!fits) {
    return infer_fail(inf, "its computation returns %s for %u inputs", infer_shown(inf, id), count);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!check_accumulator(inf, comp, inputs, count, i)) return false;
  }
  return true;
}

/* ---- reduce ---- */

static bool check_reduced(Inference *inf, uint32_t count, IntSlice dimensions) {
  if (!infer_expect_dims(inf, 0, count)) return false;
  const Shape *first = infer_operand(inf, 0);
  for (uint32_t i = 1; i < count; i++) {
    if (!shape_same_dims(first, infer_operand(inf, i))) {
      return infer_fail(inf, "operand 0 is %s, operand %u is %s",
                        infer_shown(inf, infer_operand_id(inf, 0)), i,
                        infer_shown(inf, infer_operand_id(inf, i)));
    }
  }
  if (!infer_expect_in_range(inf, "dimensions", dimensions, first->rank)) return false;
  return ints_are_unique(dimensions) || infer_fail(inf, "it reduces a dimension twice");
}

bool infer_reduce(Inference *inf) {
  uint32_t count = inf->spec->num_operands / 2;
  CompId comp = inf->spec->callees[0];
  IntSlice dimensions = infer_ints(inf, ATTR_DIMENSIONS);
  if (count == 0) return infer_fail(inf, "it has no operands");
  if (!check_reduced(inf, count, dimensions)) return false;
  ReducerInput *inputs = arena_array(inf->scratch, ReducerInput, count);
  for (uint32_t i = 0; i < count; i++) {
    inputs[i] = (ReducerInput){.init = infer_operand_id(inf, count + i),
                               .type = infer_type(infer_operand(inf, i))};
  }
  if (!infer_check_reducer(inf, comp, inputs, count)) return false;

  const Shape *first = infer_operand(inf, 0);
  Dims dims = dims_new(inf, first->rank);
  for (uint32_t i = 0; i < first->rank; i++) {
    if (!ints_contain(dimensions, i)) dims_push_from(&dims, first, i);
  }
  ShapeId *results = arena_array(inf->scratch, ShapeId, count);
  for (uint32_t i = 0; i < count; i++) {
    ElementType type = (ElementType)shape_get(inf->shapes, accumulator(inf, comp, i))->type;
    if (!infer_make_array(inf, type, &dims, &results[i])) return false;
  }
  bool is_tuple = shape_is_tuple(shape_get(inf->shapes, infer_comp_result(inf, comp)));
  inf->result = results[0];
  return !is_tuple || infer_make_tuple(inf, results, count, &inf->result);
}

/* ---- scan ---- */

/* Adds the scanned dimension to the result of one step. In the layout it is inserted directly after
 * the dimension that it moved, or first if it is the last dimension. The rest of the layout and the
 * dynamic flags are lost (ShapeUtil::InsertDimensionAtIndex). */
static bool insert_dim(Inference *inf, ShapeId id, uint32_t at, int64_t size, ShapeId *result) {
  const Shape *step = shape_get(inf->shapes, id);
  if (!shape_has_dims(step) || at > step->rank) {
    return infer_fail(inf, "its computation returns %s, which has no place for dimension %u",
                      infer_shown(inf, id), at);
  }
  uint32_t rank = step->rank + 1, num_order = 0;
  int64_t *dims = arena_array(inf->scratch, int64_t, rank);
  for (uint32_t i = 0; i < step->rank; i++)
    dims[i < at ? i : i + 1] = step->dims[i];
  dims[at] = size;
  int64_t *dynamic = arena_array(inf->scratch, int64_t, rank);
  for (uint32_t i = 0; i < rank; i++)
    dynamic[i] = dims[i] == UNBOUNDED_DIM;
  int64_t *order = arena_array(inf->scratch, int64_t, (size_t)rank * 2);
  if (at == step->rank) order[num_order++] = at;
  for (uint32_t i = 0; i < step->rank; i++) {
    int64_t dim = step->minor_to_major ? step->minor_to_major[i] : (int64_t)(step->rank - 1 - i);
    order[num_order++] = dim >= (int64_t)at ? dim + 1 : dim;
    if (dim == (int64_t)at) order[num_order++] = at;
  }
  if (num_order != rank) return infer_fail(inf, "a layout in its computation's result is broken");
  *result = shape_array(inf->shapes, &(ArraySpec){.type = (ElementType)step->type,
                                                  .rank = rank,
                                                  .dims = dims,
                                                  .dynamic = dynamic,
                                                  .minor_to_major = order});
  return true;
}

/* The root holds the values that each step collects, and then the carries, whose shapes do not
 * change. */
static bool scan_tuple(Inference *inf, const Shape *root, uint32_t at, int64_t size,
                       int64_t num_carries) {
  ShapeId *results = arena_array(inf->scratch, ShapeId, root->rank);
  for (uint32_t i = 0; i < root->rank; i++) {
    results[i] = root->elements[i];
    bool is_carry = (int64_t)i >= (int64_t)root->rank - num_carries;
    if (!is_carry && !insert_dim(inf, root->elements[i], at, size, &results[i])) return false;
  }
  return infer_make_tuple(inf, results, root->rank, &inf->result);
}

bool infer_scan(Inference *inf) {
  int64_t num_carries = infer_int(inf, ATTR_NUM_CARRIES, 0);
  int64_t dimension = infer_int(inf, ATTR_DIMENSIONS, -1);
  if (num_carries < 0 || num_carries >= (int64_t)inf->spec->num_operands) {
    return infer_fail(inf, "it has %" PRId64 " carries of %u operands and so nothing to scan",
                      num_carries, inf->spec->num_operands);
  }
  if (!infer_expect_dims(inf, 0, 1)) return false;
  const Shape *operand = infer_operand(inf, 0);
  if (!dim_in_range(dimension, operand->rank)) {
    return infer_fail(inf, "its operand has no dimension %" PRId64, dimension);
  }
  ShapeId root_id = infer_comp_result(inf, inf->spec->callees[0]);
  const Shape *root = shape_get(inf->shapes, root_id);
  uint32_t at = (uint32_t)dimension;
  int64_t size = operand->dims[at];
  if (shape_is_tuple(root)) return scan_tuple(inf, root, at, size, num_carries);
  inf->result = root_id;
  return num_carries > 0 || insert_dim(inf, root_id, at, size, &inf->result);
}
