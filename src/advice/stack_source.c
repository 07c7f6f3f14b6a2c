#include "advice/stack_source.h"

enum { MAX_CALLS = 3 };  /* of computations in each other: an asynchronous one, a fusion */
enum { MAX_DEPTH = 64 }; /* of a chain of operations that only change the form of a value */

/* Whether an operation has its first operand's elements, in another type, layout or shape. */
static bool is_form(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_BITCAST:
    case OPCODE_CONVERT:
    case OPCODE_COPY:
    case OPCODE_RESHAPE:
    case OPCODE_TRANSPOSE: return true;
    default: return false;
  }
}

/* Follows get-tuple-elements to the instruction that makes a tuple; `*element` is the last one. */
static InstId maker_of(const Module *module, InstId id, uint32_t *element) {
  *element = 0;
  for (int depth = 0; depth < MAX_DEPTH; depth++) {
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    if (opcode == OPCODE_GET_TUPLE_ELEMENT) {
      *element = (uint32_t)inst_get(module, id)->index;
    } else if (opcode != OPCODE_BITCAST) {
      break;
    }
    id = inst_operand(module, id, 0);
  }
  return id;
}

/* The instruction inside of a fusion that makes an element of its result. */
static InstId inner_root(const Module *module, InstId fusion, uint32_t element) {
  InstId root = comp_get(module, inst_callees(module, fusion)[0])->root;
  if (inst_get(module, root)->opcode == OPCODE_TUPLE &&
      element < inst_get(module, root)->num_operands)
    root = inst_operand(module, root, element);
  return root;
}

static InstId written_slice(const Module *module, InstId maker, uint32_t element);

/* The same of an asynchronous operation, whose computation has its operands as parameters. */
static InstId written_async(const Module *module, InstId start, uint32_t element) {
  InstId root = comp_get(module, inst_callees(module, start)[0])->root;
  if (inst_get(module, root)->opcode == OPCODE_ASYNC_START) return NO_ID;
  InstId slice = written_slice(module, root, element);
  bool is_given = slice != NO_ID && inst_get(module, slice)->opcode == OPCODE_PARAMETER;
  return is_given ? inst_operand(module, start, (uint32_t)inst_get(module, slice)->index) : NO_ID;
}

/* The slice that a dynamic-update-slice writes, without what only changes its form, and within a
 * fusion the operand of the fusion that it is; NO_ID if it is computed there. */
static InstId written_slice(const Module *module, InstId maker, uint32_t element) {
  if (inst_get(module, maker)->opcode == OPCODE_ASYNC_START)
    return written_async(module, maker, element);
  bool is_fused = inst_get(module, maker)->opcode == OPCODE_FUSION;
  InstId at = is_fused ? inner_root(module, maker, element) : maker;
  for (int depth = 0; depth < MAX_DEPTH && is_form(module, at); depth++)
    at = inst_operand(module, at, 0);
  if (inst_get(module, at)->opcode != OPCODE_DYNAMIC_UPDATE_SLICE) return NO_ID;
  at = inst_operand(module, at, 1);
  for (int depth = 0; depth < MAX_DEPTH && is_form(module, at); depth++)
    at = inst_operand(module, at, 0);
  if (!is_fused) return at;
  if (inst_get(module, at)->opcode != OPCODE_PARAMETER) return NO_ID;
  return inst_operand(module, maker, (uint32_t)inst_get(module, at)->index);
}

/* Whether something besides operations on single elements is in an instruction. */
static bool is_heavy(const Module *module, InstId id, int depth) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_DOT:
    case OPCODE_CONVOLUTION:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_REDUCE:
    case OPCODE_REDUCE_WINDOW:
    case OPCODE_SCATTER:
    case OPCODE_SORT:
    case OPCODE_WHILE: return true;
    default: break;
  }
  for (uint32_t c = 0; c < inst_get(module, id)->num_callees && depth < MAX_CALLS; c++) {
    CompId comp = inst_callees(module, id)[c];
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      if (is_heavy(module, comp_inst(module, comp, i), depth + 1)) return true;
    }
  }
  return false;
}

/* The only instruction that makes an array of at least so many bytes that an instruction reads,
 * besides the state and stacks in it; NO_ID if there is none, `id` if there are several. */
static InstId only_source(const Module *module, InstId id, InstId state, int64_t least_bytes) {
  InstId found = NO_ID;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    const Shape *shape = inst_shape(module, operand);
    uint32_t element;
    InstId from = maker_of(module, operand, &element);
    bool is_large = shape_is_array(shape) && shape->bytes >= least_bytes;
    if (!is_large || from == state) continue;
    if (found != NO_ID && found != from) return id;
    found = from;
  }
  return found;
}

/* An asynchronous operation stands for what it starts. */
static InstId start_of(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_ASYNC_DONE ||
         inst_get(module, id)->opcode == OPCODE_ASYNC_UPDATE)
    id = inst_operand(module, id, 0);
  return id;
}

StackSource stack_source_of(const Module *module, CompId body, uint32_t element) {
  StackSource source = {NO_ID, NO_ID};
  InstId root = comp_get(module, body)->root,
         state = id_list(module, comp_get(module, body)->params)[0];
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return source;
  uint32_t part;
  InstId stack = inst_operand(module, root, element);
  const Shape *shape = inst_shape(module, stack);
  InstId maker = start_of(module, maker_of(module, stack, &part));
  InstId slice = written_slice(module, maker, part);
  for (int depth = 0; slice != NO_ID && depth < MAX_DEPTH && is_form(module, slice); depth++)
    slice = inst_operand(module, slice, 0);
  uint32_t state_element;
  if (slice != NO_ID && maker_of(module, slice, &state_element) == state)
    source.carried = state_element;
  int64_t least_bytes =
      shape_is_array(shape) && shape->dims[0] > 0 ? shape->bytes / shape->dims[0] / 4 : 0;
  for (int depth = 0; depth < MAX_DEPTH && maker != NO_ID && !is_heavy(module, maker, 0); depth++) {
    InstId next = only_source(module, maker, state, least_bytes);
    if (next == maker) break;
    maker = next;
  }
  source.maker = maker;
  return source;
}
