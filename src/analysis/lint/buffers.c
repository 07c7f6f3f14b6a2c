/* Checks values of type b(…), which are memory that is written in place. Few instructions take
 * them; a custom-call names the result that a buffer among its operands becomes; and a buffer has
 * at most one writer. Source: VerifyBuffers. */
#include "analysis/lint/lint.h"

static bool fail(Lint *lint, InstId id, const char *what) {
  return lint_find_inst(lint, LINT_BUFFER, id, "%s", what);
}

static bool has_buffers(const Lint *lint, ShapeId shape) {
  return lint->has_buffers[shape];
}

/* ---- writers ---- */

/* A part of a value. */
typedef struct ValuePart {
  InstId inst;
  uint32_t part;
} ValuePart;

/* A value that is forwarded more often, or has a later position in a tuple, is assumed to be
 * correct. */
enum { MAX_STEPS = 1 << 10 };

static bool is_writer(unsigned opcode) {
  switch (opcode) {
    case OPCODE_CALL:
    case OPCODE_CONDITIONAL:
    case OPCODE_CUSTOM_CALL:
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_FUSION:
    case OPCODE_WHILE: return true;
    default: return false;
  }
}

static bool is_in_while(const Lint *lint, CompId comp) {
  InstId caller = lint->callers[comp];
  return caller != NO_ID && inst_get(lint->module, caller)->opcode == OPCODE_WHILE;
}

/* The part of `user` to which it forwards the given part; NO_ID when it does not forward it. */
static uint32_t part_in_user(const Module *module, ValuePart value, InstId user) {
  const Instruction *inst = inst_get(module, user);
  if (inst->opcode == OPCODE_GET_TUPLE_ELEMENT) {
    const Shape *tuple = inst_shape(module, value.inst);
    if (value.part == 0 || shape_element_of_part(tuple, value.part) != inst->index) return NO_ID;
    return value.part - tuple->element_offsets[inst->index];
  }
  if (inst->opcode != OPCODE_TUPLE || inst_is_root(module, user)) return NO_ID;
  uint32_t index = 0;
  while (index < MAX_STEPS && inst_operand(module, user, index) != value.inst)
    index++;
  if (index == MAX_STEPS) return NO_ID;
  return inst_shape(module, user)->element_offsets[index] + value.part;
}

/* Counts the writers of a value. What a loop's body returns is written in the next iteration. */
static uint32_t count_writers(const Lint *lint, ValuePart start) {
  const Module *module = lint->module;
  ValuePart *stack = arena_array(lint->scratch, ValuePart, MAX_STEPS);
  uint32_t num_writers = 0, num_steps = 1, top = 0;
  stack[top++] = start;
  while (top && num_writers < 2) {
    ValuePart value = stack[--top];
    IdList users = inst_get(module, value.inst)->users;
    if (users.len > MAX_STEPS - num_steps) return 0;
    num_steps += users.len;
    for (uint32_t i = 0; i < users.len; i++) {
      InstId user = id_list(module, users)[i];
      unsigned opcode = inst_get(module, user)->opcode;
      bool is_result = opcode == OPCODE_TUPLE && inst_is_root(module, user);
      num_writers +=
          is_writer(opcode) || (is_result && is_in_while(lint, inst_get(module, user)->parent));
      uint32_t part = part_in_user(module, value, user);
      if (part != NO_ID) stack[top++] = (ValuePart){user, part};
    }
  }
  return num_writers;
}

static void lint_writers(Lint *lint, InstId id) {
  const ShapeTable *shapes = &lint->module->shapes;
  ShapeId shape = inst_get(lint->module, id)->shape;
  if (!has_buffers(lint, shape)) return;
  uint32_t num_parts = shape_get(shapes, shape)->num_parts;
  ShapeId *parts = arena_array(lint->scratch, ShapeId, num_parts);
  shape_list_parts(shapes, shape, parts);
  for (uint32_t part = 0; part < num_parts; part++) {
    if (shape_get(shapes, parts[part])->kind != SHAPE_BUFFER) continue;
    ArenaMark mark = arena_mark(lint->scratch);
    uint32_t num_writers = count_writers(lint, (ValuePart){id, part});
    arena_reset(lint->scratch, mark);
    if (num_writers < 2) continue;
    fail(lint, id, "a buffer in its result has several writers, expected one at most");
    return;
  }
}

/* ---- custom-calls ---- */

/* Whether both are the same array, without regard to layouts and to whether one is a buffer. */
static bool same_array(const Shape *a, const Shape *b) {
  bool fits = a->type == b->type && a->rank == b->rank;
  for (uint32_t i = 0; fits && i < a->rank; i++)
    fits = a->dims[i] == b->dims[i] && dim_is_dynamic(a, i) == dim_is_dynamic(b, i);
  return fits;
}

/* Pin turns an array into a buffer, Unpin a buffer into an array; CreateBuffer makes a new
 * buffer. */
static void lint_pin(Lint *lint, InstId id, bool is_pin) {
  const Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  ShapeId from = inst->num_operands == 1 ? lint_operand_shape(lint, id, 0) : NO_ID,
          to = inst->shape;
  unsigned kind_from = is_pin ? SHAPE_ARRAY : SHAPE_BUFFER;
  unsigned kind_to = is_pin ? SHAPE_BUFFER : SHAPE_ARRAY;
  const Shape *source = from == NO_ID ? NULL : shape_get(&module->shapes, from);
  const Shape *result = shape_get(&module->shapes, to);
  if (!source || !shape_has_dims(source) || source->kind != kind_from) {
    fail(lint, id,
         is_pin ? "expected an array as its operand" : "expected a buffer as its operand");
  } else if (!shape_has_dims(result) || result->kind != kind_to || !same_array(source, result)) {
    lint_find_inst(lint, LINT_BUFFER, id,
                   "expected the %s of its operand, %s, as its result, found %s",
                   is_pin ? "buffer" : "array", lint_shown(lint, from), lint_shown(lint, to));
  } else {
    IntSlice ints = inst_attr_ints(module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    AliasPair pair;
    if (ints.len && alias_pair_read(ints.data, &pair) == ints.len) return;
    fail(lint, id, "expected output_to_operand_aliasing with one pair");
  }
}

/* How often output_to_operand_aliasing names each part. */
typedef struct NamedParts {
  uint32_t *in_result;
  uint32_t *in_operands; /* operand i's begin at offsets[i] */
  uint32_t *offsets;
} NamedParts;

/* False when there are more parts than in any real module; these are not checked. */
static bool count_named(Lint *lint, InstId id, NamedParts *named) {
  const ShapeTable *shapes = &lint->module->shapes;
  const Instruction *inst = inst_get(lint->module, id);
  uint64_t total = 0;
  named->offsets = arena_array(lint->scratch, uint32_t, inst->num_operands);
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    named->offsets[i] = (uint32_t)total;
    total += shape_get(shapes, lint_operand_shape(lint, id, i))->num_parts;
    if (total > MAX_SHAPE_PARTS) return false;
  }
  named->in_operands = arena_zarray(lint->scratch, uint32_t, total);
  named->in_result =
      arena_zarray(lint->scratch, uint32_t, shape_get(shapes, inst->shape)->num_parts);
  IntSlice ints = inst_attr_ints(lint->module, id, ATTR_OUTPUT_TO_OPERAND_ALIASING);
  for (uint32_t i = 0; i < ints.len;) {
    AliasPair pair;
    i += alias_pair_read(ints.data + i, &pair);
    uint32_t out = shape_index_part(shapes, inst->shape, pair.output, pair.output_len), in = NO_ID;
    if (out != NO_ID) named->in_result[out]++;
    if (pair.operand < 0 || pair.operand >= inst->num_operands) continue;
    in = shape_index_part(shapes, lint_operand_shape(lint, id, (uint32_t)pair.operand), pair.input,
                          pair.input_len);
    if (in != NO_ID) named->in_operands[named->offsets[pair.operand] + in]++;
  }
  return true;
}

/* Checks that each buffer in the shape of operand `index`, or of the result (NO_ID), is named
 * once. */
static bool lint_named(Lint *lint, InstId id, uint32_t index, ShapeId shape,
                       const uint32_t *counts) {
  if (!has_buffers(lint, shape)) return true;
  const ShapeTable *shapes = &lint->module->shapes;
  uint32_t num_parts = shape_get(shapes, shape)->num_parts;
  ShapeId *parts = arena_array(lint->scratch, ShapeId, num_parts);
  shape_list_parts(shapes, shape, parts);
  for (uint32_t part = 0; part < num_parts; part++) {
    if (shape_get(shapes, parts[part])->kind != SHAPE_BUFFER || counts[part] == 1) continue;
    DiagPlace place = index == NO_ID ? lint_place(lint, id) : lint_place_operand(lint, id, index);
    return lint_find_at(
        lint, LINT_BUFFER, id, place,
        "a buffer in its %s, %s, is in output_to_operand_aliasing %s, expected once",
        index == NO_ID ? "result" : "operand", lint_shown(lint, shape),
        counts[part] ? "several times" : "nowhere");
  }
  return true;
}

static bool lint_all_named(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  NamedParts named;
  if (!count_named(lint, id, &named)) return false;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    ShapeId shape = lint_operand_shape(lint, id, i);
    if (!lint_named(lint, id, i, shape, named.in_operands + named.offsets[i])) return false;
  }
  return lint_named(lint, id, NO_ID, inst->shape, named.in_result);
}

static void lint_custom_call(Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  Str target = inst_attr_string(lint->module, id, ATTR_CUSTOM_CALL_TARGET);
  bool is_pin = str_is(target, "Pin");
  if (is_pin || str_is(target, "Unpin")) {
    lint_pin(lint, id, is_pin);
  } else if (str_is(target, "CreateBuffer")) {
    if (inst->num_operands) fail(lint, id, "expected no operands");
    if (inst_shape(lint->module, id)->kind != SHAPE_BUFFER)
      fail(lint, id, "expected a buffer as its result");
  } else if (!lint_all_named(lint, id)) {
    return;
  }
  lint_writers(lint, id);
}

/* ---- other instructions ---- */

static void expect_no_buffers(Lint *lint, InstId id, uint32_t first_operand) {
  const Instruction *inst = inst_get(lint->module, id);
  for (uint32_t i = first_operand; i < inst->num_operands; i++) {
    ShapeId shape = lint_operand_shape(lint, id, i);
    if (!has_buffers(lint, shape)) continue;
    lint_find_at(lint, LINT_BUFFER, id, lint_place_operand(lint, id, i),
                 "operand %u is %s, expected no buffers", i, lint_shown(lint, shape));
    return;
  }
  if (first_operand || !has_buffers(lint, inst->shape)) return;
  lint_find_inst(lint, LINT_BUFFER, id, "its shape is %s, expected no buffers",
                 lint_shown(lint, inst->shape));
}

/* In asynchronous computations only a root that is a custom-call is checked. */
static bool is_exempt(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  InstId caller = lint->callers[inst->parent];
  bool is_async = caller != NO_ID && inst_get(lint->module, caller)->opcode == OPCODE_ASYNC_START;
  if (is_async) return !inst_is_root(lint->module, id) || inst->opcode != OPCODE_CUSTOM_CALL;
  Str stream;
  return inst->opcode == OPCODE_CALL && lint_frontend(lint, id, "_xla_stream_annotation", &stream);
}

void lint_buffers(Lint *lint, InstId id) {
  if (is_exempt(lint, id)) return;
  const Instruction *inst = inst_get(lint->module, id);
  if (opcode_is_async((Opcode)inst->opcode)) return;
  switch (inst->opcode) {
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_TUPLE: return;
    case OPCODE_CUSTOM_CALL: lint_custom_call(lint, id); return;
    case OPCODE_PARAMETER:
      if (inst->parent == lint->module->entry) expect_no_buffers(lint, id, 0);
      lint_writers(lint, id);
      return;
    case OPCODE_WHILE: lint_writers(lint, id); return;
    case OPCODE_DYNAMIC_UPDATE_SLICE:
      if (!has_buffers(lint, lint_operand_shape(lint, id, 0))) break;
      expect_no_buffers(lint, id, 1);
      lint_writers(lint, id);
      return;
    default: break;
  }
  expect_no_buffers(lint, id, 0);
}

/* Elements have smaller ids than their tuple. */
const bool *lint_shapes_with_buffers(const ShapeTable *shapes, Arena *out) {
  bool *has = arena_zarray(out, bool, shapes->shapes.len);
  for (ShapeId id = 0; id < shapes->shapes.len; id++) {
    const Shape *shape = shape_get(shapes, id);
    has[id] = shape->kind == SHAPE_BUFFER;
    for (uint32_t i = 0; shape_is_tuple(shape) && i < shape->rank; i++)
      has[id] |= has[shape->elements[i]];
  }
  return has;
}
