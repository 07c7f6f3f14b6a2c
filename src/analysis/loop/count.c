#include "analysis/loop/count.h"

#include "analysis/flow/literal.h"
#include "ir/bytes.h"

enum { MAX_DEPTH = 64, MAX_COUNTERS = 256 };
enum { LIST_NEW, LIST_BEGUN, LIST_DONE };

static bool is_integer(const Shape *shape) {
  if (!shape_is_effective_scalar(shape)) return false;
  uint8_t class = type_info((ElementType)shape->type)->class;
  return class == TYPE_CLASS_PRED || class == TYPE_CLASS_SINT || class == TYPE_CLASS_UINT;
}

/* Values that do not fit the type would wrap. */
static bool fits(const Shape *shape, int64_t value) {
  const TypeInfo *info = type_info((ElementType)shape->type);
  if (info->class == TYPE_CLASS_PRED) return value == 0 || value == 1;
  if (info->class == TYPE_CLASS_UINT) {
    return value >= 0 && (info->bits >= 63 || value < INT64_C(1) << info->bits);
  }
  if (info->bits >= 64) return true;
  int64_t end = INT64_C(1) << (info->bits - 1);
  return value >= -end && value < end;
}

/* ---- operations ---- */

static bool compare(int64_t direction, int64_t a, int64_t b) {
  switch (direction) {
    case DIRECTION_EQ: return a == b;
    case DIRECTION_NE: return a != b;
    case DIRECTION_GE: return a >= b;
    case DIRECTION_GT: return a > b;
    case DIRECTION_LE: return a <= b;
    default: return a < b;
  }
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* One result of an operation on one to three integers. */
static bool apply(const Module *module, InstId id, const int64_t *args, int64_t *result) {
  int64_t a = args[0], b = args[1], c = args[2];
  switch (inst_get(module, id)->opcode) {
    case OPCODE_ADD: return add_bytes(a, b, result);
    case OPCODE_SUBTRACT: return !__builtin_sub_overflow(a, b, result);
    case OPCODE_MULTIPLY: return mul_bytes(a, b, result);
    case OPCODE_NEGATE: return mul_bytes(a, -1, result);
    case OPCODE_DIVIDE:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      *result = a / b;
      return true;
    case OPCODE_REMAINDER:
      if (b == 0 || b == -1) return false;
      *result = a % b;
      return true;
    case OPCODE_MINIMUM: *result = smaller(a, b); return true;
    case OPCODE_MAXIMUM: *result = larger(a, b); return true;
    case OPCODE_CLAMP: *result = smaller(larger(b, a), c); return true;
    case OPCODE_SELECT: *result = a ? b : c; return true;
    case OPCODE_COMPARE:
      *result = compare(inst_attr_int(module, id, ATTR_DIRECTION, DIRECTION_LT), a, b);
      return true;
    case OPCODE_COPY: /* one that converts */
    case OPCODE_CONVERT: *result = a; return true;
    case OPCODE_AND:
    case OPCODE_OR:
      if (inst_shape(module, id)->type != TYPE_PRED) return false;
      *result = inst_get(module, id)->opcode == OPCODE_AND ? (a && b) : (a || b);
      return true;
    case OPCODE_NOT:
      if (inst_shape(module, id)->type != TYPE_PRED) return false;
      *result = !a;
      return true;
    default: return false;
  }
}

/* ---- lists ---- */

CountLists count_lists_begin(const Loops *loops, Arena *arena) {
  uint32_t num_insts = loops->module->insts.len;
  return (CountLists){.loops = loops,
                      .known = arena_zarray(arena, const int64_t *, num_insts),
                      .state = arena_zarray(arena, uint8_t, num_insts),
                      .arena = arena};
}

void count_lists_enter(CountLists *lists, const Loop *loop, Arena *out) {
  for (uint32_t i = 0; i < lists->touched.len; i++) {
    lists->state[lists->touched.data[i]] = LIST_NEW;
    lists->known[lists->touched.data[i]] = NULL;
  }
  lists->touched.len = 0;
  lists->loop = loop;
  lists->out = out;
}

/* The value outside of the loop, if it is a constant that is only forwarded. */
static bool find_constant(const Loops *loops, InstId id, int64_t *value) {
  const Module *module = loops->module;
  for (int step = 0; step < MAX_DEPTH; step++) {
    id = loop_origin(loops, id).inst;
    switch (inst_get(module, id)->opcode) {
      case OPCODE_CONSTANT: return literal_integer(module, id, value);
      case OPCODE_BITCAST:
      case OPCODE_BROADCAST:
      case OPCODE_RESHAPE: id = inst_operand(module, id, 0); break;
      case OPCODE_FUSION: id = comp_get(module, inst_callees(module, id)[0])->root; break;
      case OPCODE_PARAMETER: {
        /* of a fusion that was entered; of a loop's body the origin is the get-tuple-element */
        InstId caller = only_caller_of(loops->graph, inst_get(module, id)->parent);
        if (caller == NO_ID || inst_get(module, caller)->opcode != OPCODE_FUSION) return false;
        id = inst_operand(module, caller, (uint32_t)inst_get(module, id)->index);
        break;
      }
      default: return false;
    }
  }
  return false;
}

static const int64_t *constant_list(CountLists *lists, int64_t value) {
  int64_t *list = arena_array(lists->out, int64_t, (size_t)lists->loop->trips);
  for (int64_t t = 0; t < lists->loop->trips; t++)
    list[t] = value;
  return list;
}

static const int64_t *list_element(CountLists *lists, InstId id) {
  const Loop *loop = lists->loop;
  const Module *module = lists->loops->module;
  const Instruction *inst = inst_get(module, id);
  InstId tuple = inst_operand(module, id, 0);
  int64_t value;
  if (tuple == loop->body_param) {
    if (loop->counts[inst->index]) return loop->counts[inst->index];
    bool is_constant =
        loop->is_invariant[inst->index] &&
        find_constant(lists->loops, loop_init(lists->loops, loop, (uint32_t)inst->index), &value);
    return is_constant ? constant_list(lists, value) : NULL;
  }
  if (inst_get(module, tuple)->opcode == OPCODE_TUPLE)
    return count_list(lists, inst_operand(module, tuple, (uint32_t)inst->index));
  if (inst_get(module, tuple)->opcode != OPCODE_FUSION) return NULL;
  InstId root = comp_get(module, inst_callees(module, tuple)[0])->root;
  if (inst_get(module, root)->opcode != OPCODE_TUPLE) return NULL;
  return count_list(lists, inst_operand(module, root, (uint32_t)inst->index));
}

static const int64_t *list_operation(CountLists *lists, InstId id) {
  const Module *module = lists->loops->module;
  uint32_t num_operands = inst_get(module, id)->num_operands;
  const int64_t *operands[3] = {0};
  if (num_operands < 1 || num_operands > 3) return NULL;
  for (uint32_t i = 0; i < num_operands; i++) {
    operands[i] = count_list(lists, inst_operand(module, id, i));
    if (!operands[i]) return NULL;
  }
  int64_t *list = arena_array(lists->out, int64_t, (size_t)lists->loop->trips);
  for (int64_t t = 0; t < lists->loop->trips; t++) {
    int64_t args[3] = {operands[0][t], operands[1] ? operands[1][t] : 0,
                       operands[2] ? operands[2][t] : 0};
    if (!apply(module, id, args, &list[t]) || !fits(inst_shape(module, id), list[t])) return NULL;
  }
  return list;
}

static const int64_t *list_inst(CountLists *lists, InstId id) {
  const Module *module = lists->loops->module;
  const Instruction *inst = inst_get(module, id);
  if (!is_integer(inst_shape(module, id))) return NULL;
  int64_t value;
  switch (inst->opcode) {
    case OPCODE_CONSTANT:
      return literal_integer(module, id, &value) ? constant_list(lists, value) : NULL;
    case OPCODE_GET_TUPLE_ELEMENT: return list_element(lists, id);
    case OPCODE_FUSION:
      return count_list(lists, comp_get(module, inst_callees(module, id)[0])->root);
    case OPCODE_PARAMETER: {
      InstId caller = only_caller_of(lists->loops->graph, inst->parent);
      if (caller == NO_ID || inst_get(module, caller)->opcode != OPCODE_FUSION) return NULL;
      return count_list(lists, inst_operand(module, caller, (uint32_t)inst->index));
    }
    case OPCODE_COPY:
      return inst_is_converting_copy(module, id) ? list_operation(lists, id)
                                                 : count_list(lists, inst_operand(module, id, 0));
    case OPCODE_BITCAST:
    case OPCODE_BROADCAST:
    case OPCODE_RESHAPE: return count_list(lists, inst_operand(module, id, 0));
    default: return list_operation(lists, id);
  }
}

const int64_t *count_list(CountLists *lists, InstId id) {
  if (lists->state[id] == LIST_DONE) return lists->known[id];
  if (lists->state[id] == LIST_BEGUN || lists->depth == MAX_DEPTH) return NULL;
  *vec_push(lists->arena, &lists->touched) = id;
  lists->state[id] = LIST_BEGUN;
  lists->depth++;
  const int64_t *list = list_inst(lists, id);
  lists->depth--;
  lists->state[id] = LIST_DONE;
  lists->known[id] = list;
  return list;
}

bool count_is_linear(const int64_t *list, int64_t count, int64_t *first, int64_t *step) {
  *first = count > 0 ? list[0] : 0;
  *step = count > 1 ? list[1] - list[0] : 0;
  for (int64_t t = 0; t < count; t++) {
    if (list[t] != *first + t * *step) return false;
  }
  return true;
}

/* ---- counters ---- */

/* Assumes that the element counts, with the step that the first iteration shows, and checks the
 * assumption in all iterations. */
static void try_counter(CountLists *lists, Loop *loop, uint32_t element, Arena *out,
                        Arena *scratch) {
  const Loops *loops = lists->loops;
  const Shape *shape = inst_shape(loops->module, loop_next(loops, loop, element));
  int64_t first;
  if (loop->is_invariant[element] || !is_integer(shape) ||
      !find_constant(loops, loop_init(loops, loop, element), &first)) {
    return;
  }
  ArenaMark mark = arena_mark(scratch);
  int64_t *list = arena_array(out, int64_t, (size_t)loop->trips + 1);
  int64_t step = 1;
  for (int round = 0; round < 2; round++) {
    bool fits_all = true;
    for (int64_t t = 0; t <= loop->trips; t++) {
      int64_t offset;
      fits_all &=
          mul_bytes(step, t, &offset) && add_bytes(first, offset, &list[t]) && fits(shape, list[t]);
    }
    loop->counts[element] = fits_all ? list : NULL;
    if (!fits_all) break;
    count_lists_enter(lists, loop, scratch);
    const int64_t *next = count_list(lists, loop_next(loops, loop, element));
    bool is_same = next && memcmp(next, list + 1, (size_t)loop->trips * sizeof *next) == 0;
    if (is_same) break;
    loop->counts[element] = NULL;
    if (!next || next[0] - first == step || __builtin_sub_overflow(next[0], first, &step)) break;
  }
  arena_reset(scratch, mark);
}

uint32_t count_counter_of(const Loop *loop) {
  uint32_t found = NO_ID;
  for (uint32_t e = 0; e < loop->num_elements; e++) {
    const int64_t *list = loop->counts[e];
    if (!list) continue;
    bool is_by_one = loop->trips < 2 || list[1] - list[0] == 1 || list[0] - list[1] == 1;
    if (is_by_one) return e;
    if (found == NO_ID && list[1] != list[0]) found = e;
  }
  return found;
}

void loop_count(CountLists *lists, Loop *loop, Arena *out, Arena *scratch) {
  uint32_t num_tried = 0;
  for (uint32_t i = 0; i < loop->num_elements && num_tried < MAX_COUNTERS; i++) {
    if (!is_integer(inst_shape(lists->loops->module, loop_next(lists->loops, loop, i)))) continue;
    num_tried++;
    try_counter(lists, loop, i, out, scratch);
  }
}
