/* The entry point of shape inference, and the rules that need only a few lines. */
#include "ir/infer/infer_shape_internal.h"

#include <assert.h>
#include <inttypes.h>

/* A wrong index fails a check that terminates XLA. Here it is an error. */
static bool infer_get_tuple_element(Inference *inf) {
  const Shape *tuple = infer_operand(inf, 0);
  int64_t index = infer_int(inf, ATTR_INDEX, -1);
  if (!shape_is_tuple(tuple)) {
    return infer_fail(inf, "its operand is %s, not a tuple",
                      infer_shown(inf, infer_operand_id(inf, 0)));
  }
  if (!dim_in_range(index, tuple->rank)) {
    return infer_fail(inf, "its operand has %u elements, none of index %" PRId64, tuple->rank,
                      index);
  }
  inf->result = tuple->elements[index];
  return true;
}

static bool infer_tuple(Inference *inf) {
  return infer_join_tuple(inf, infer_operand_ids(inf), inf->spec->num_operands, &inf->result);
}

/* The dimension along which the elements are sorted does not affect the shape. */
static bool infer_sort(Inference *inf) {
  uint32_t count = inf->spec->num_operands;
  if (count == 1) {
    inf->result = infer_operand_id(inf, 0);
    return true;
  }
  if (!infer_expect_dims(inf, 0, count)) return false;
  for (uint32_t i = 1; i < count; i++) {
    if (!shape_same_dims(infer_operand(inf, 0), infer_operand(inf, i))) {
      return infer_fail(inf, "the dimensions of operand 0, %s, and operand %u, %s, differ",
                        infer_shown(inf, infer_operand_id(inf, 0)), i,
                        infer_shown(inf, infer_operand_id(inf, i)));
    }
  }
  return infer_make_tuple(inf, infer_operand_ids(inf), count, &inf->result);
}

static bool infer_by_opcode(Inference *inf) {
  Opcode opcode = inf->spec->opcode;
  switch (opcode) {
    case OPCODE_ADD_DEPENDENCY:
    case OPCODE_COPY:
    case OPCODE_DOMAIN: inf->result = infer_operand_id(inf, 0); return true;
    case OPCODE_AFTER_ALL: inf->result = shape_scalar(inf->shapes, TYPE_TOKEN); return true;
    case OPCODE_PARTITION_ID:
    case OPCODE_REPLICA_ID: inf->result = shape_scalar(inf->shapes, TYPE_U32); return true;
    case OPCODE_OPT_BARRIER: return infer_fail(inf, "write it before the opcode");
    case OPCODE_CLAMP: return infer_clamp(inf);
    case OPCODE_SELECT: return infer_select(inf);
    case OPCODE_TUPLE: return infer_tuple(inf);
    case OPCODE_GET_TUPLE_ELEMENT: return infer_get_tuple_element(inf);
    case OPCODE_SORT: return infer_sort(inf);

    case OPCODE_BROADCAST: return infer_broadcast(inf);
    case OPCODE_CONCATENATE: return infer_concatenate(inf);
    case OPCODE_GET_DIMENSION_SIZE: return infer_get_dimension_size(inf);
    case OPCODE_PAD: return infer_pad(inf);
    case OPCODE_REVERSE: return infer_reverse(inf);
    case OPCODE_SET_DIMENSION_SIZE: return infer_set_dimension_size(inf);
    case OPCODE_TOPK: return infer_topk(inf);
    case OPCODE_TRANSPOSE: return infer_transpose(inf);

    case OPCODE_CALL: return infer_call(inf);
    case OPCODE_CONDITIONAL: return infer_conditional(inf);
    case OPCODE_MAP: return infer_map(inf);
    case OPCODE_REDUCE: return infer_reduce(inf);
    case OPCODE_SCAN: return infer_scan(inf);
    case OPCODE_WHILE: return infer_while(inf);

    case OPCODE_CONVOLUTION: return infer_convolution(inf);
    case OPCODE_REDUCE_WINDOW: return infer_reduce_window(inf);
    case OPCODE_SELECT_AND_SCATTER: return infer_select_and_scatter(inf);

    case OPCODE_DOT: return infer_dot(inf, 1);
    case OPCODE_RAGGED_DOT: return infer_ragged_dot(inf);
    case OPCODE_SCALED_DOT: return infer_dot(inf, 2); /* operands 1 and 3 are the scales */

    case OPCODE_GATHER: return infer_gather(inf);
    case OPCODE_SCATTER: return infer_scatter(inf);

    case OPCODE_BATCH_NORM_GRAD:
    case OPCODE_BATCH_NORM_INFERENCE:
    case OPCODE_BATCH_NORM_TRAINING: return infer_batch_norm(inf);
    case OPCODE_CHOLESKY: return infer_cholesky(inf);
    case OPCODE_FFT: return infer_fft(inf);
    case OPCODE_TRIANGULAR_SOLVE: return infer_triangular_solve(inf);

    default: break;
  }
  assert(opcode_has(opcode, OPF_ELEMENTWISE) && "every other opcode is named above");
  return opcode_info(opcode)->arity == 1 ? infer_unary(inf) : infer_binary(inf);
}

bool infer_shape(Module *module, const InferSpec *spec, ShapeId *shape, const char **why,
                 Arena *scratch) {
  assert(opcode_has(spec->opcode, OPF_INFER) && "the shape may be left out");
  ArenaMark mark = arena_mark(scratch);
  Inference inf = {.module = module, .shapes = &module->shapes, .spec = spec, .scratch = scratch};
  if (!infer_by_opcode(&inf)) {
    *why = inf.why;
    return false;
  }
  *shape = inf.result;
  arena_reset(scratch, mark);
  return true;
}

bool infer_shape_is_valid(Module *module, ShapeId shape, const char **why, Arena *scratch) {
  Inference inf = {.module = module, .shapes = &module->shapes, .scratch = scratch};
  bool is_valid = infer_check_valid(&inf, shape);
  if (why) *why = inf.why;
  return is_valid;
}
