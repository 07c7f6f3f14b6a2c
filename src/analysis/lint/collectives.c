/* Compares the shapes of collectives with their operands. The number of devices follows from the
 * shapes here; groups.c compares it with the groups. */
#include <inttypes.h>

#include "analysis/lint/lint.h"

/* Element `i` of a result, which is a tuple when there are several; NO_ID when it does not fit. */
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

/* Dimension `dim` is `*ratio` times as large in `large` as in `small`. `*ratio` is -1 at first, and
 * is set then. */
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

/* For an all-gather `result` is larger than the operands; for a reduce-scatter it is smaller. */
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

/* The results in the tuple (operands, results, …) of a start; NO_ID when it is not such a tuple. */
static ShapeId results_of_start(Lint *lint, InstId id, uint32_t count) {
  const Shape *shape = inst_shape(lint->module, id);
  if (!shape_is_tuple(shape) || shape->rank < 2) {
    lint_find_inst(lint, LINT_RESULT_SHAPE, id, "its shape is %s, not (operands, results, …)",
                   lint_shown(lint, inst_get(lint->module, id)->shape));
    return NO_ID;
  }
  return expect_same(lint, id, shape->elements[0], count) ? shape->elements[1] : NO_ID;
}

/* Whether `offsets` is the offsets of a slice in `buffer`, one number for each dimension, or a
 * tuple of such offsets. */
static bool are_offsets(const Lint *lint, ShapeId offsets, ShapeId buffer) {
  const ShapeTable *shapes = &lint->module->shapes;
  const Shape *array = shape_get(shapes, buffer), *all = shape_get(shapes, offsets);
  if (!shape_is_tuple(all) || !shape_has_dims(array)) return false;
  uint32_t num_slices = 0, num_numbers = 0;
  for (uint32_t i = 0; i < all->rank; i++) {
    const Shape *element = shape_get(shapes, all->elements[i]);
    num_slices += shape_is_tuple(element) && element->rank == array->rank;
    num_numbers += shape_has_dims(element);
  }
  return num_slices == all->rank || (num_numbers == all->rank && all->rank == array->rank);
}

/* Checks the offsets into one buffer, or into each buffer of a tuple. */
static bool lint_offsets(Lint *lint, InstId id, uint32_t buffer) {
  const ShapeTable *shapes = &lint->module->shapes;
  ShapeId of = lint_operand_shape(lint, id, buffer);
  ShapeId offsets = lint_operand_shape(lint, id, buffer + 2);
  const Shape *buffers = shape_get(shapes, of), *tuple = shape_get(shapes, offsets);
  bool fits = are_offsets(lint, offsets, of);
  if (shape_is_tuple(buffers)) {
    fits = shape_is_tuple(tuple) && tuple->rank == buffers->rank;
    for (uint32_t i = 0; fits && i < buffers->rank; i++)
      fits = are_offsets(lint, tuple->elements[i], buffers->elements[i]);
  }
  if (fits) return true;
  return lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, buffer + 2),
                      "operand %u, %s, has no offsets into operand %u, %s", buffer + 2,
                      lint_shown(lint, offsets), buffer, lint_shown(lint, of));
}

/* The operands are sources, targets that are written in place, and offsets into each. */
static void lint_permute_in_place(Lint *lint, InstId id, bool is_start) {
  const ShapeTable *shapes = &lint->module->shapes;
  ShapeId from = lint_operand_shape(lint, id, 0), to = lint_operand_shape(lint, id, 1);
  const Shape *source = shape_get(shapes, from), *target = shape_get(shapes, to);
  bool fits = shape_is_tuple(source) ? shape_is_tuple(target) && source->rank == target->rank
                                     : shape_has_dims(source) && shape_has_dims(target);
  if (!fits) {
    lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, 1),
                 "operand 0 is %s, operand 1 is %s", lint_shown(lint, from), lint_shown(lint, to));
    return;
  }
  if (!lint_offsets(lint, id, 0) || !lint_offsets(lint, id, 1)) return;
  ShapeId result = inst_get(lint->module, id)->shape;
  const Shape *shape = shape_get(shapes, result);
  if (is_start) {
    fits = shape_is_tuple(shape) && shape->rank >= 2 && lint_fits(lint, shape->elements[0], from) &&
           lint_fits(lint, shape->elements[1], to);
  } else {
    fits = lint_fits(lint, result, to);
  }
  if (!fits) fail_result(lint, id, result, 1);
}

static void lint_permute(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  bool is_start = inst->opcode == OPCODE_COLLECTIVE_PERMUTE_START;
  if (inst->num_operands == 4 && inst_attr(lint->module, id, ATTR_PERMUTE_SLICE_SIZES)) {
    lint_permute_in_place(lint, id, is_start);
    return;
  }
  if (!is_start) {
    if (expect_arrays(lint, id, inst->num_operands))
      expect_same(lint, id, inst->shape, inst->num_operands);
    return;
  }
  ShapeId results = results_of_start(lint, id, inst->num_operands);
  if (results != NO_ID) expect_same(lint, id, results, inst->num_operands);
}

static Shape without_space(const Shape *shape, LayoutExtras *extras) {
  Shape copy = *shape;
  *extras = shape->extras ? *shape->extras : (LayoutExtras){.tail_padding = 1};
  extras->memory_space = 0;
  copy.extras = extras;
  return copy;
}

/* Compares arrays with their layouts, which other checks ignore, but without memory spaces. */
static bool same_array(const Lint *lint, ShapeId a, ShapeId b) {
  const Shape *x = shape_get(&lint->module->shapes, a), *y = shape_get(&lint->module->shapes, b);
  if (a == b) return true;
  if (!shape_has_dims(x) || !lint_fits(lint, a, b)) return false;
  for (uint32_t i = 0; i < x->rank; i++) {
    if (x->dims[i] != y->dims[i] || dim_is_dynamic(x, i) != dim_is_dynamic(y, i)) return false;
  }
  LayoutExtras of_x, of_y;
  Shape plain_x = without_space(x, &of_x), plain_y = without_space(y, &of_y);
  return shape_same_layout(&plain_x, &plain_y);
}

static const char *shown_with_layout(const Lint *lint, ShapeId shape) {
  Str text = shape_text(&lint->module->shapes, shape, true, lint->scratch);
  return arena_strndup(lint->scratch, text.data, text.len);
}

/* With `dimensions` one array is split and concatenated again; without, each operand is a part. */
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
  int64_t dim = inst_attr_int(lint->module, id, ATTR_DIMENSIONS, 0);
  const Shape *first = inst_shape(lint->module, inst_operand(lint->module, id, 0));
  if (is_split && !(shape_has_dims(first) && dim_in_range(dim, first->rank))) {
    lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_attr(lint, id, ATTR_DIMENSIONS),
                 "%s has no dimension %" PRId64 " to split",
                 lint_shown(lint, lint_operand_shape(lint, id, 0)), dim);
    return;
  }
  for (uint32_t i = 1; i < inst->num_operands; i++) {
    if (same_array(lint, lint_operand_shape(lint, id, 0), lint_operand_shape(lint, id, i)))
      continue;
    lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, i),
                 "operand 0 is %s, operand %u is %s",
                 shown_with_layout(lint, lint_operand_shape(lint, id, 0)), i,
                 shown_with_layout(lint, lint_operand_shape(lint, id, i)));
    return;
  }
}

/* The operands are input, output, then offsets and sizes of both, all of one shape. */
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
    if (same_array(lint, first, shape) && (rank == 1 || rank == 2)) continue;
    lint_find_at(lint, LINT_OPERAND_SHAPE, id, lint_place_operand(lint, id, i),
                 "operand %u is %s: offsets and sizes are of one shape, of rank 1 or 2", i,
                 shown_with_layout(lint, shape));
    return;
  }
  if (!lint_fits(lint, inst->shape, lint_operand_shape(lint, id, 1)))
    fail_result(lint, id, inst->shape, 1);
}

/* The result of a done is an element of the start's tuple, or all of it. */
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
  switch (opcode_begun(opcode)) {
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_REDUCE:
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
