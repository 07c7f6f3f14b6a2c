/* Shapes of collectives against their operands. How many devices take part is told by the shapes
 * here, and held against the groups in lint_groups.c. */
#include <inttypes.h>

#include "analysis/lint.h"

/* Element `i` of a result that is a tuple when there are several; NO_ID when it does not fit. */
static ShapeId nth_of(const Lint *lint, ShapeId result, uint32_t i, uint32_t count) {
  const Shape *shape = shape_get(&lint->module->shapes, result);
  if (count == 1) return result;
  return shape_is_tuple(shape) && shape->rank == count ? shape->elements[i] : NO_ID;
}

static bool fail_result(Lint *lint, InstId id, ShapeId result, uint32_t i) {
  return lint_find_inst(lint, LINT_RESULT_SHAPE, id, "it makes %s of operand %u, %s",
                        lint_shown(lint, result), i,
                        lint_shown(lint, lint_operand_shape(lint, id, i)));
}

static bool expect_arrays(Lint *lint, InstId id, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    ShapeId shape = lint_operand_shape(lint, id, i);
    if (shape_has_dims(shape_get(&lint->module->shapes, shape))) continue;
    return lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, i),
                        "operand %u is %s, not an array", i, lint_shown(lint, shape));
  }
  return true;
}

/* Result `i` has the shape of operand `i`, up to precision. */
static bool expect_same(Lint *lint, InstId id, ShapeId result, uint32_t count) {
  InferSpec spec;
  Inference inf = lint_inference(lint, id, &spec);
  for (uint32_t i = 0; i < count; i++) {
    ShapeId operand = lint_operand_shape(lint, id, i), element = nth_of(lint, result, i, count);
    if (element == NO_ID) return fail_result(lint, id, result, i);
    if (infer_compatible(&inf, element, operand, TYPES_UP_TO_PRECISION)) continue;
    return fail_result(lint, id, element, i);
  }
  return true;
}

/* One dimension is `*ratio` times as large in `large` as in `small`; -1 at first. */
static bool is_scaled(const Shape *small, const Shape *large, int64_t dim, int64_t *ratio) {
  if (!shape_has_dims(small) || !shape_has_dims(large) || small->rank != large->rank ||
      !type_same_up_to_precision(small->type, large->type) || !dim_in_range(dim, small->rank)) {
    return false;
  }
  for (uint32_t i = 0; i < small->rank; i++) {
    int64_t part = small->dims[i], whole = large->dims[i];
    if (i != dim) {
      if (!sizes_fit(part, whole)) return false;
      continue;
    }
    if (part == UNBOUNDED_DIM || whole == UNBOUNDED_DIM || part == 0) continue;
    if (whole % part != 0 || (*ratio >= 0 && whole / part != *ratio)) return false;
    *ratio = whole / part;
  }
  return true;
}

/* all-gather: `result` is larger than the operands; reduce-scatter: smaller. */
static bool expect_scaled(Lint *lint, InstId id, ShapeId result, bool is_gather) {
  const ShapeTable *shapes = &lint->module->shapes;
  uint32_t count = inst_get(lint->module, id)->num_operands;
  int64_t dim = inst_attr_int(lint->module, id, ATTR_DIMENSIONS, 0), ratio = -1;
  for (uint32_t i = 0; i < count; i++) {
    ShapeId operand = lint_operand_shape(lint, id, i), element = nth_of(lint, result, i, count);
    if (element == NO_ID) return fail_result(lint, id, result, i);
    ShapeId small = is_gather ? operand : element, large = is_gather ? element : operand;
    bool fits = is_scaled(shape_get(shapes, small), shape_get(shapes, large), dim, &ratio);
    if (!fits) return fail_result(lint, id, element, i);
  }
  return true;
}

/* The tuple (operands, results, …) of a start; its results, NO_ID when it is none. */
static ShapeId results_of_start(Lint *lint, InstId id, uint32_t count) {
  const Shape *shape = inst_shape(lint->module, id);
  if (!shape_is_tuple(shape) || shape->rank < 2) {
    lint_find_inst(lint, LINT_RESULT_SHAPE, id, "its shape is %s, not (operands, results, …)",
                   lint_shown(lint, inst_get(lint->module, id)->shape));
    return NO_ID;
  }
  return expect_same(lint, id, shape->elements[0], count) ? shape->elements[1] : NO_ID;
}

static void lint_permute(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  bool is_start = inst->opcode == OPCODE_COLLECTIVE_PERMUTE_START;
  bool is_in_place =
      inst->num_operands == 4 && inst_attr(lint->module, id, ATTR_PERMUTE_SLICE_SIZES);
  if (is_in_place) return; /* writes into its operand 1; offsets of many forms */
  if (!is_start) {
    if (expect_arrays(lint, id, inst->num_operands))
      expect_same(lint, id, inst->shape, inst->num_operands);
    return;
  }
  ShapeId results = results_of_start(lint, id, inst->num_operands);
  if (results != NO_ID) expect_same(lint, id, results, inst->num_operands);
}

/* With `dimensions` an array is split and put together again; without, each operand is a part. */
static void lint_all_to_all(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  const Shape *shape = inst_shape(lint->module, id);
  bool is_split = inst_attr(lint->module, id, ATTR_DIMENSIONS) != NULL;
  ShapeId result = inst->shape;
  if (!is_split && inst->num_operands == 1) {
    if (!shape_is_tuple(shape) || shape->rank != 1) {
      fail_result(lint, id, result, 0);
      return;
    }
    result = shape->elements[0];
  }
  if (is_split && inst->num_operands != 1) {
    lint_find_inst(lint, LINT_OPERAND_COUNT, id, "it splits one operand and has %u",
                   inst->num_operands);
    return;
  }
  if (!expect_same(lint, id, result, inst->num_operands)) return;
  for (uint32_t i = 1; i < inst->num_operands; i++) {
    if (lint_fits(lint, lint_operand_shape(lint, id, 0), lint_operand_shape(lint, id, i))) continue;
    lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, i),
                 "operand 0 is %s, operand %u is %s",
                 lint_shown(lint, lint_operand_shape(lint, id, 0)), i,
                 lint_shown(lint, lint_operand_shape(lint, id, i)));
    return;
  }
}

/* Operands: input, output, then offsets and sizes of both, all of one shape. */
static void lint_ragged(Lint *lint, InstId id) {
  enum { NUM_RAGGED_OPERANDS = 6, FIRST_OFFSETS = 2 };
  const Instruction *inst = inst_get(lint->module, id);
  if (inst->num_operands != NUM_RAGGED_OPERANDS) {
    lint_find_inst(lint, LINT_OPERAND_COUNT, id, "it has %u operands, not 6", inst->num_operands);
    return;
  }
  ShapeId first = lint_operand_shape(lint, id, FIRST_OFFSETS);
  for (uint32_t i = FIRST_OFFSETS; i < NUM_RAGGED_OPERANDS; i++) {
    ShapeId shape = lint_operand_shape(lint, id, i);
    uint32_t rank = shape_get(&lint->module->shapes, shape)->rank;
    if (lint_fits(lint, first, shape) && (rank == 1 || rank == 2)) continue;
    lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, i),
                 "operand %u is %s: offsets and sizes are of one shape, of rank 1 or 2", i,
                 lint_shown(lint, shape));
    return;
  }
  if (!lint_fits(lint, inst->shape, lint_operand_shape(lint, id, 1)))
    fail_result(lint, id, inst->shape, 1);
}

/* What a done gives is an element of the start's tuple, or all of it. */
static void lint_done(Lint *lint, InstId id, bool is_element) {
  ShapeId state = lint_operand_shape(lint, id, 0);
  const Shape *shape = shape_get(&lint->module->shapes, state);
  if (is_element) {
    if (!shape_is_tuple(shape) || shape->rank < 2) {
      lint_find_inst(lint, LINT_OPERAND_SHAPE, id, "its operand is %s, not (operands, results, …)",
                     lint_shown(lint, state));
      return;
    }
    state = shape->elements[1];
  }
  if (lint_fits(lint, inst_get(lint->module, id)->shape, state)) return;
  lint_find_inst(lint, LINT_RESULT_SHAPE, id, "its shape is %s, its operand gives %s",
                 lint_shown(lint, inst_get(lint->module, id)->shape), lint_shown(lint, state));
}

static bool takes_no_operands(Opcode opcode) {
  switch (opcode) {
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_GATHER_START:
    case OPCODE_ALL_REDUCE:
    case OPCODE_ALL_REDUCE_START:
    case OPCODE_REDUCE_SCATTER: return true; /* they do in XLA's tests */
    default: return false;
  }
}

void lint_collective(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  uint32_t count = inst->num_operands;
  ShapeId results;
  if (count == 0 && takes_no_operands((Opcode)inst->opcode)) return;
  switch (inst->opcode) {
    case OPCODE_ALL_GATHER: expect_scaled(lint, id, inst->shape, true); break;
    case OPCODE_ALL_GATHER_START:
      results = results_of_start(lint, id, count);
      if (results != NO_ID) expect_scaled(lint, id, results, true);
      break;
    case OPCODE_REDUCE_SCATTER: expect_scaled(lint, id, inst->shape, false); break;
    case OPCODE_ALL_REDUCE:
    case OPCODE_ALL_REDUCE_START:
      if (expect_arrays(lint, id, count)) expect_same(lint, id, inst->shape, count);
      break;
    case OPCODE_COLLECTIVE_BROADCAST:
      if (count == 1) expect_same(lint, id, inst->shape, 1);
      break;
    case OPCODE_COLLECTIVE_PERMUTE:
    case OPCODE_COLLECTIVE_PERMUTE_START: lint_permute(lint, id); break;
    case OPCODE_ALL_TO_ALL:
      if (count) lint_all_to_all(lint, id);
      break;
    case OPCODE_RAGGED_ALL_TO_ALL: lint_ragged(lint, id); break;
    case OPCODE_ALL_REDUCE_DONE: lint_done(lint, id, false); break;
    case OPCODE_ALL_GATHER_DONE:
    case OPCODE_COLLECTIVE_PERMUTE_DONE: lint_done(lint, id, true); break;
    default: break;
  }
}
