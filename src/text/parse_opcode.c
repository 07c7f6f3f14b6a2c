/* The checks that XLA's parser makes for each opcode after the operands and attributes were read
 * (HloParserImpl::CreateInstruction). It does not compare a written shape with the operands, except
 * where a rule below does; `remat-hlo check` makes that comparison. */
#include <inttypes.h>

#include "ir/bytes.h"
#include "ir/infer/infer_shape.h"
#include "text/parser.h"

static const Attr *find_attr(const Candidate *candidate, AttrId id) {
  for (uint32_t i = 0; i < candidate->num_attrs; i++) {
    if (candidate->attrs[i].id == id) return &candidate->attrs[i];
  }
  return NULL;
}

static int64_t attr_int(const Parser *parser, const Candidate *candidate, AttrId id,
                        int64_t fallback) {
  const Attr *attr = find_attr(candidate, id);
  return attr && attr->num_ints ? parser->source->ints.data[attr->ints] : fallback;
}

static const Shape *operand_shape(const Parser *parser, const Candidate *candidate, uint32_t i) {
  return inst_shape(parser->module, candidate->operands[i]);
}

static const Shape *result_shape(const Parser *parser, const Candidate *candidate) {
  return shape_get(&parser->module->shapes, candidate->shape);
}

static bool fail(Parser *parser, const Candidate *candidate, const char *what) {
  return parse_fail(parser, candidate->offset, "%s %s", opcode_text(candidate->opcode), what);
}

static bool fail_count(Parser *parser, const Candidate *candidate, const char *wanted) {
  return parse_fail(parser, candidate->offset, "%s takes %s, not %u",
                    opcode_text(candidate->opcode), wanted, candidate->num_operands);
}

/* Returns the text of a shape for messages, in `scratch`. */
static const char *shown_shape(Parser *parser, ShapeId id) {
  Str text = shape_text(&parser->module->shapes, id, false, parser->scratch);
  return arena_strndup(parser->scratch, text.data, text.len);
}

/* Fails with `what`, the shape of the first operand and that of the result. */
static bool fail_shapes(Parser *parser, const Candidate *candidate, const char *what) {
  ShapeId from = inst_get(parser->module, candidate->operands[0])->shape;
  return parse_fail(parser, candidate->offset, "%s %s %s and %s", opcode_text(candidate->opcode),
                    what, shown_shape(parser, from), shown_shape(parser, candidate->shape));
}

static bool check_operand_count(Parser *parser, const Candidate *candidate) {
  int arity = opcode_info(candidate->opcode)->arity;
  if (arity < 0 || (uint32_t)arity == candidate->num_operands) return true;
  return parse_fail(parser, candidate->offset, "%s takes %d operand%s, not %u",
                    opcode_text(candidate->opcode), arity, arity == 1 ? "" : "s",
                    candidate->num_operands);
}

/* Checks for dimensions={d} with exactly one entry. */
static bool check_one_dimension(Parser *parser, const Candidate *candidate, bool is_required) {
  const Attr *attr = find_attr(candidate, ATTR_DIMENSIONS);
  if (!attr && !is_required) return true;
  if (attr && attr->num_ints == 1) return true;
  return parse_fail(parser, attr ? attr->text.begin : candidate->offset,
                    "%s takes one dimension, not %u", opcode_text(candidate->opcode),
                    attr ? attr->num_ints : 0);
}

static bool check_conditional(Parser *parser, const Candidate *candidate) {
  if (candidate->num_operands == 0) return fail(parser, candidate, "needs an operand to decide on");
  const Shape *decider = operand_shape(parser, candidate, 0);
  if (!shape_is_scalar(decider) || (decider->type != TYPE_PRED && decider->type != TYPE_S32)) {
    return fail(parser, candidate, "decides on a scalar of type pred or s32");
  }
  bool by_pred = decider->type == TYPE_PRED;
  bool has_branches = find_attr(candidate, ATTR_BRANCH_COMPUTATIONS) != NULL;
  bool has_true = find_attr(candidate, ATTR_TRUE_COMPUTATION) != NULL;
  bool has_false = find_attr(candidate, ATTR_FALSE_COMPUTATION) != NULL;
  if (by_pred && (has_branches || !has_true || !has_false)) {
    return fail(parser, candidate, "on pred takes true_computation and false_computation");
  }
  if (!by_pred && (has_true || has_false || !has_branches)) {
    return fail(parser, candidate, "on s32 takes branch_computations");
  }
  if (candidate->num_callees == 0) return fail(parser, candidate, "needs at least one branch");
  if (candidate->num_operands != candidate->num_callees + 1) {
    return parse_fail(parser, candidate->offset,
                      "conditional has %u branches and %u operands for them",
                      candidate->num_callees, candidate->num_operands - 1);
  }
  return true;
}

static bool same_element_count(const Shape *a, const Shape *b) {
  int64_t product_a = 1, product_b = 1;
  for (uint32_t i = 0; i < a->rank; i++) {
    product_a = (int64_t)((uint64_t)product_a * (uint64_t)a->dims[i]);
  }
  for (uint32_t i = 0; i < b->rank; i++) {
    product_b = (int64_t)((uint64_t)product_b * (uint64_t)b->dims[i]);
  }
  return product_a == product_b;
}

static bool check_reshape(Parser *parser, const Candidate *candidate, bool is_dynamic) {
  if (candidate->num_operands == 0) return fail(parser, candidate, "needs an operand");
  const Shape *from = operand_shape(parser, candidate, 0), *to = result_shape(parser, candidate);
  bool is_free = !is_dynamic && from->has_unbounded;
  if (!shape_is_array(from) || !shape_is_array(to) || (!is_free && !same_element_count(from, to))) {
    return fail_shapes(parser, candidate, "keeps the number of elements, which differs:");
  }
  if (is_dynamic && candidate->num_operands - 1 != to->rank) {
    return fail(parser, candidate, "takes one size for each dimension of its result");
  }
  return true;
}

/* Checks operand 0, the update if there is one, and the start indices: one operand per index, or
 * one vector with all of them. `before` is the number of operands before the indices. */
static bool check_dynamic_indices(Parser *parser, const Candidate *candidate, uint32_t before) {
  if (candidate->num_operands < before) return fail(parser, candidate, "lacks operands");
  const Shape *array = operand_shape(parser, candidate, 0);
  uint32_t num_indices = candidate->num_operands - before;
  bool is_vector = num_indices == 1 && operand_shape(parser, candidate, before)->rank == 1 &&
                   shape_is_array(operand_shape(parser, candidate, before));
  if (!shape_is_array(array)) return fail(parser, candidate, "works on an array");
  return is_vector || num_indices == array->rank ||
         fail(parser, candidate, "takes one start index for each dimension");
}

static bool check_custom_call(Parser *parser, const Candidate *candidate) {
  const Attr *constraints = find_attr(candidate, ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  if (!constraints) return true;
  if (constraints->num_ints != candidate->num_operands) {
    return parse_fail(parser, constraints->text.begin,
                      "%u operand layout constraints for %u operands", constraints->num_ints,
                      candidate->num_operands);
  }
  for (uint32_t i = 0; i < constraints->num_ints; i++) {
    ShapeId wanted = (ShapeId)parser->source->ints.data[constraints->ints + i];
    ShapeId actual = inst_get(parser->module, candidate->operands[i])->shape;
    if (shape_compatible(&parser->module->shapes, wanted, actual)) continue;
    return parse_fail(parser, constraints->text.begin, "layout constraint %u is %s, its operand %s",
                      i, shown_shape(parser, wanted), shown_shape(parser, actual));
  }
  return true;
}

/* XLA reads the element and terminates if there is none. An operand that is not a tuple is accepted
 * here. */
static bool check_tuple_index(Parser *parser, const Candidate *candidate) {
  const Shape *tuple = operand_shape(parser, candidate, 0);
  int64_t index = attr_int(parser, candidate, ATTR_INDEX, 0);
  if (!shape_is_tuple(tuple) || (index >= 0 && index < tuple->rank)) return true;
  return parse_fail(parser, candidate->offset,
                    "get-tuple-element takes element %" PRId64 " of a tuple of %u; the first is 0",
                    index, tuple->rank);
}

static bool check_channel_of_start(Parser *parser, const Candidate *candidate) {
  const Instruction *start = inst_get(parser->module, candidate->operands[0]);
  if (!opcode_has(start->opcode, OPF_CHANNEL)) return true;
  bool has_channel = find_attr(candidate, ATTR_CHANNEL_ID) != NULL;
  bool start_has = (start->flags & INST_HAS_CHANNEL) != 0;
  if (has_channel == start_has &&
      (!has_channel || start->index == attr_int(parser, candidate, ATTR_CHANNEL_ID, 0))) {
    return true;
  }
  return fail(parser, candidate, "has another channel_id than its start");
}

static bool check_collective_permute(Parser *parser, const Candidate *candidate) {
  return !find_attr(candidate, ATTR_PERMUTE_SLICE_SIZES) || candidate->num_operands == 4 ||
         fail(parser, candidate, "with slice_sizes takes 4 operands");
}

static bool check_scan(Parser *parser, const Candidate *candidate) {
  if (!check_one_dimension(parser, candidate, true)) return false;
  const Computation *applied = comp_get(parser->module, candidate->callees[0]);
  if (candidate->num_operands != applied->params.len) {
    return parse_fail(parser, candidate->offset,
                      "scan has %u operands, its computation %u parameters",
                      candidate->num_operands, applied->params.len);
  }
  int64_t num_carries = attr_int(parser, candidate, ATTR_NUM_CARRIES, 0);
  if (num_carries < 0) return fail(parser, candidate, "has a negative number of carries");
  return num_carries <= (int64_t)candidate->num_operands ||
         fail(parser, candidate, "has fewer operands than carries");
}

static bool check_all_reduce(Parser *parser, const Candidate *candidate) {
  bool global = attr_int(parser, candidate, ATTR_USE_GLOBAL_DEVICE_IDS, 0) != 0;
  if (global && !find_attr(candidate, ATTR_CHANNEL_ID) && !find_attr(candidate, ATTR_MODE)) {
    return fail(parser, candidate, "with use_global_device_ids needs a channel_id");
  }
  return candidate->opcode != OPCODE_REDUCE_SCATTER || check_one_dimension(parser, candidate, true);
}

static Str thread_of(const Parser *parser, const Attr *attr) {
  if (!attr) return STR("main");
  return module_span(parser->module, (Span){attr->text.begin + 1, attr->text.end - 1});
}

/* Checks that the attributes of an update or a done agree with those of its start. */
static bool check_async_follower(Parser *parser, const Candidate *candidate) {
  const Module *module = parser->module;
  if (candidate->num_operands == 0) return fail(parser, candidate, "needs an operand");
  if (inst_get(module, candidate->operands[0])->opcode == OPCODE_ASYNC_DONE) {
    return fail(parser, candidate, "cannot follow an async-done");
  }
  InstId start = parse_async_start_of(parser, candidate->operands[0]);
  if (start == NO_ID) return true;
  const Attr *thread = find_attr(candidate, ATTR_ASYNC_EXECUTION_THREAD);
  if (thread &&
      !str_equal(thread_of(parser, thread),
                 thread_of(parser, inst_attr(module, start, ATTR_ASYNC_EXECUTION_THREAD)))) {
    return fail(parser, candidate, "has another async_execution_thread than its start");
  }
  if (candidate->num_callees && candidate->callees[0] != inst_callees(module, start)[0]) {
    return fail(parser, candidate, "calls another computation than its start");
  }
  InstId root = comp_get(module, inst_callees(module, start)[0])->root;
  Opcode started = (Opcode)inst_get(module, root)->opcode;
  return candidate->wrapped == NUM_OPCODES || candidate->wrapped == started ||
         parse_fail(parser, candidate->offset, "the start is that of another opcode, %s",
                    opcode_text(started));
}

/* ---- result shapes that the parser always replaces ---- */

static ShapeId token_shape(Parser *parser) {
  return shape_scalar(&parser->module->shapes, TYPE_TOKEN);
}

static ShapeId tuple_of(Parser *parser, ShapeId first, bool with_context) {
  ShapeTable *shapes = &parser->module->shapes;
  ShapeId elements[3] = {first, NO_ID, NO_ID};
  uint32_t count = 1;
  if (with_context) elements[count++] = shape_scalar(shapes, TYPE_U32);
  elements[count++] = token_shape(parser);
  return shape_tuple(shapes, elements, count);
}

static bool replace_shape(Parser *parser, Candidate *candidate) {
  const ShapeTable *shapes = &parser->module->shapes;
  const Shape *written = candidate->has_shape ? shape_get(shapes, candidate->shape) : NULL;
  bool is_tuple = written && shape_is_tuple(written) && written->rank > 0;
  switch (candidate->opcode) {
    case OPCODE_AFTER_ALL:
    case OPCODE_SEND_DONE:
    case OPCODE_OUTFEED: candidate->shape = token_shape(parser); return true;
    case OPCODE_SEND: {
      ShapeId sent = inst_get(parser->module, candidate->operands[0])->shape;
      const char *why;
      /* XLA terminates when it makes the tuple. */
      if (!parse_array_is_valid(shape_get(shapes, sent), &why)) {
        return parse_fail(parser, candidate->offset, "what send takes is invalid: %s", why);
      }
      candidate->shape = tuple_of(parser, sent, true);
      return true;
    }
    case OPCODE_RECV:
    case OPCODE_INFEED:
      if (!is_tuple) return fail(parser, candidate, "needs a shape that is a non-empty tuple");
      candidate->shape = tuple_of(parser, written->elements[0], candidate->opcode == OPCODE_RECV);
      return true;
    case OPCODE_RECV_DONE: {
      const Shape *start = operand_shape(parser, candidate, 0);
      if (!shape_is_tuple(start) || start->rank == 0) {
        return fail(parser, candidate, "takes a tuple");
      }
      candidate->shape = tuple_of(parser, start->elements[0], false);
      return true;
    }
    case OPCODE_ADD_DEPENDENCY:
      candidate->shape = inst_get(parser->module, candidate->operands[0])->shape;
      return true;
    case OPCODE_PARTITION_ID:
    case OPCODE_REPLICA_ID:
      if (written && (!shape_is_scalar(written) || written->type != TYPE_U32)) {
        return parse_fail(parser, candidate->offset, "%s has the shape u32[], not %s",
                          opcode_text(candidate->opcode), shown_shape(parser, candidate->shape));
      }
      if (!written) candidate->shape = shape_scalar(&parser->module->shapes, TYPE_U32);
      return true;
    case OPCODE_CONSTANT: {
      if (!written->has_dynamic) return true;
      ArraySpec spec = shape_spec(written);
      spec.dynamic = NULL;
      candidate->shape = shape_array(&parser->module->shapes, &spec);
      return true;
    }
    default: return true;
  }
}

static bool needs_inference(Opcode opcode) {
  switch (opcode) {
    case OPCODE_AFTER_ALL:
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_PARTITION_ID:
    case OPCODE_REPLICA_ID: return false;
    default: return true;
  }
}

static bool check_rules(Parser *parser, const Candidate *candidate) {
  uint32_t num_operands = candidate->num_operands;
  switch (candidate->opcode) {
    case OPCODE_ALL_GATHER:
    case OPCODE_ALL_GATHER_START:
    case OPCODE_CONCATENATE:
    case OPCODE_SORT:
    case OPCODE_GET_DIMENSION_SIZE:
    case OPCODE_SET_DIMENSION_SIZE: return check_one_dimension(parser, candidate, true);
    case OPCODE_ALL_TO_ALL:
    case OPCODE_RAGGED_ALL_TO_ALL: return check_one_dimension(parser, candidate, false);
    case OPCODE_ALL_REDUCE:
    case OPCODE_ALL_REDUCE_START:
    case OPCODE_REDUCE_SCATTER: return check_all_reduce(parser, candidate);
    case OPCODE_COLLECTIVE_PERMUTE:
    case OPCODE_COLLECTIVE_PERMUTE_START: return check_collective_permute(parser, candidate);
    case OPCODE_ASYNC_UPDATE:
    case OPCODE_ASYNC_DONE: return check_async_follower(parser, candidate);
    case OPCODE_BROADCAST:
      return find_attr(candidate, ATTR_DIMENSIONS) ||
             shape_is_scalar(operand_shape(parser, candidate, 0)) ||
             fail(parser, candidate, "of an array lacks the attribute 'dimensions'");
    case OPCODE_COMPARE:
      return !find_attr(candidate, ATTR_TYPE) || !find_attr(candidate, ATTR_ORDER) ||
             fail(parser, candidate, "takes type or order, not both");
    case OPCODE_CONDITIONAL: return check_conditional(parser, candidate);
    case OPCODE_CONVOLUTION:
    case OPCODE_DOT:
      /* The computation that `dot-start()` implies gets its operands from updates. */
      return num_operands >= 2 || candidate->is_implied ||
             fail(parser, candidate, "takes at least 2 operands");
    case OPCODE_CUSTOM_CALL: return check_custom_call(parser, candidate);
    case OPCODE_GET_TUPLE_ELEMENT: return check_tuple_index(parser, candidate);
    case OPCODE_DYNAMIC_RESHAPE: return check_reshape(parser, candidate, true);
    case OPCODE_RESHAPE: return check_reshape(parser, candidate, false);
    case OPCODE_DYNAMIC_SLICE: return check_dynamic_indices(parser, candidate, 1);
    case OPCODE_DYNAMIC_UPDATE_SLICE: return check_dynamic_indices(parser, candidate, 2);
    case OPCODE_REDUCE:
      return num_operands % 2 == 0 || fail_count(parser, candidate, "an even number of operands");
    case OPCODE_REDUCE_WINDOW:
      return (num_operands % 2 == 0 && num_operands) ||
             fail_count(parser, candidate, "an even number of operands, at least 2");
    case OPCODE_SCATTER:
      return num_operands % 2 == 1 || fail_count(parser, candidate, "an odd number of operands");
    case OPCODE_SCAN: return check_scan(parser, candidate);
    case OPCODE_RECV_DONE:
    case OPCODE_SEND_DONE: return check_channel_of_start(parser, candidate);
    case OPCODE_TUPLE: {
      if (!candidate->has_shape) return true;
      const Shape *shape = result_shape(parser, candidate);
      return (shape_is_tuple(shape) && shape->rank == num_operands) ||
             parse_fail(parser, candidate->offset, "tuple of %u operand%s has the shape %s",
                        num_operands, num_operands == 1 ? "" : "s",
                        shown_shape(parser, candidate->shape));
    }
    default: return true;
  }
}

/* Checks that there is one flag for each array in the shape (ShapeUtil::GetLeafCount). */
static bool check_replication(Parser *parser, const Candidate *candidate) {
  const Attr *attr = find_attr(candidate, ATTR_PARAMETER_REPLICATION);
  if (!attr) return true;
  if (candidate->opcode != OPCODE_PARAMETER) { /* XLA terminates here */
    return parse_fail(parser, attr->text.begin, "parameter_replication belongs to parameters");
  }
  const ShapeTable *shapes = &parser->module->shapes;
  ArenaMark mark = arena_mark(parser->scratch);
  uint32_t num_parts = shape_get(shapes, candidate->shape)->num_parts, num_arrays = 0;
  ShapeId *parts = arena_array(parser->scratch, ShapeId, num_parts);
  shape_list_parts(shapes, candidate->shape, parts);
  for (uint32_t i = 0; i < num_parts; i++) {
    num_arrays += !shape_is_tuple(shape_get(shapes, parts[i]));
  }
  arena_reset(parser->scratch, mark);
  return attr->num_ints == num_arrays ||
         parse_fail(parser, attr->text.begin,
                    "parameter_replication has %u flags, the shape has %u arrays", attr->num_ints,
                    num_arrays);
}

bool parse_check_opcode(Parser *parser, Candidate *candidate) {
  if (!check_operand_count(parser, candidate) || !check_rules(parser, candidate)) return false;
  if (!candidate->has_shape && needs_inference(candidate->opcode)) {
    InferSpec spec = {.opcode = candidate->opcode,
                      .operands = candidate->operands,
                      .num_operands = candidate->num_operands,
                      .attrs = candidate->attrs,
                      .num_attrs = candidate->num_attrs,
                      .callees = candidate->callees,
                      .num_callees = candidate->num_callees};
    const char *why;
    if (!infer_shape(parser->module, &spec, &candidate->shape, &why, parser->scratch)) {
      return parse_fail(parser, candidate->offset, "the shape of %s cannot be inferred: %s",
                        opcode_text(candidate->opcode), why);
    }
  }
  return replace_shape(parser, candidate) && check_replication(parser, candidate);
}
