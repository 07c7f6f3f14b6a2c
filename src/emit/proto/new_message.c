#include "emit/proto/new_message.h"

typedef struct NewInst {
  const Module *module;
  InstId id;
  Arena *arena;
} NewInst;

static void set_bytes(protobuf_c_boolean *is_there, Bytes *field, Str text) {
  *is_there = true;
  *field = bytes_of(text);
}

/* A slice that begins at 0 in each dimension, as the printer writes it for new instructions. */
static bool set_slices(const NewInst *new, InstMessage *message) {
  const Shape *shape = inst_shape(new->module, new->id);
  IntSlice ints = inst_attr_ints(new->module, new->id, ATTR_SLICE);
  if (ints.len != 3 * shape->rank) return false;
  message->n_slice_dimensions = shape->rank;
  message->slice_dimensions = arena_array(new->arena, RematHlo__SliceDimensions *, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++) {
    const int64_t *given = ints.data + 3 * (size_t)i;
    if (given[0] != 0 || given[1] != shape->dims[i] || given[2] != 1) return false;
    RematHlo__SliceDimensions *slice = arena_alloc(new->arena, sizeof *slice);
    *slice = (RematHlo__SliceDimensions)REMAT_HLO__SLICE_DIMENSIONS__INIT;
    slice->has_limit = slice->has_stride = true;
    slice->limit = given[1];
    slice->stride = given[2];
    message->slice_dimensions[i] = slice;
  }
  return true;
}

static bool set_slice_sizes(const NewInst *new, InstMessage *message) {
  IntSlice sizes = inst_attr_ints(new->module, new->id, ATTR_DYNAMIC_SLICE_SIZES);
  message->n_dynamic_slice_sizes = sizes.len;
  message->dynamic_slice_sizes = (int64_t *)(uintptr_t)sizes.data;
  return sizes.len == inst_shape(new->module, new->id)->rank;
}

/* Reads `-12`. Returns false if the text is another one. */
static bool read_int(Str text, int64_t *value) {
  bool is_negative = text.len > 0 && text.data[0] == '-';
  int64_t number = 0;
  if (text.len == is_negative || text.len > 18) return false;
  for (uint32_t i = is_negative; i < text.len; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    number = number * 10 + (text.data[i] - '0');
  }
  *value = is_negative ? -number : number;
  return true;
}

/* The value of a new constant: the counter of a new loop, or a 0. */
static bool set_literal(const NewInst *new, const Line *line, InstMessage *message) {
  const Shape *shape = inst_shape(new->module, new->id);
  RematHlo__Literal literal = REMAT_HLO__LITERAL__INIT;
  int64_t value;
  if (line->rest.len || !shape_is_scalar(shape) || !read_int(line->value, &value)) return false;
  int32_t narrow = (int32_t)value;
  float zero = 0;
  if (shape->type == TYPE_S32 && narrow == value) {
    literal.n_s32s = 1;
    literal.s32s = &narrow;
  } else if (shape->type == TYPE_S64) {
    literal.n_s64s = 1;
    literal.s64s = &value;
  } else if (shape->type == TYPE_F32 && str_is(line->value, "0")) {
    literal.n_f32s = 1;
    literal.f32s = &zero;
  } else {
    return false;
  }
  literal.has_shape = true;
  literal.shape = message->shape;
  message->has_literal = true;
  message->literal = message_write(&literal.base, new->arena);
  return true;
}

/* XLA finds the type of the comparison by that of the operands. */
static bool set_direction(const NewInst *new, InstMessage *message) {
  set_bytes(&message->has_comparison_direction, &message->comparison_direction,
            inst_attr_text(new->module, new->id, ATTR_DIRECTION));
  return message->comparison_direction.len > 0;
}

static bool set_new_loop(const NewInst *new, const Line *line, InstMessage *message) {
  if (str_is(line->rest, ", condition=, body=")) return true;
  set_bytes(&message->has_backend_config, &message->backend_config,
            inst_attr_text(new->module, new->id, ATTR_BACKEND_CONFIG));
  return str_is(line->rest, ", condition=, body=, backend_config=") &&
         message->backend_config.data[0] == '{';
}

/* Sets the fields of a new instruction that its attributes determine. Returns false if there are
 * others than those which the printer writes for new instructions. */
static bool set_attributes(const NewInst *new, const Line *line, InstMessage *message) {
  bool has_one = inst_attrs(new->module, new->id).len == 1;
  switch (line->opcode) {
    case OPCODE_TUPLE:
    case OPCODE_BITCAST:
    case OPCODE_OPT_BARRIER:
    case OPCODE_DYNAMIC_UPDATE_SLICE:
    case OPCODE_PARAMETER: return line->rest.len == 0;
    case OPCODE_CALL: return str_is(line->rest, ", to_apply=");
    case OPCODE_GET_TUPLE_ELEMENT: return str_is(line->rest, ", index=");
    case OPCODE_BROADCAST: return str_is(line->rest, ", dimensions={}");
    case OPCODE_FUSION:
      set_bytes(&message->has_fusion_kind, &message->fusion_kind, STR("kLoop"));
      return str_is(line->rest, ", kind=kLoop, calls=");
    case OPCODE_DYNAMIC_SLICE: return has_one && set_slice_sizes(new, message);
    case OPCODE_SLICE: return has_one && set_slices(new, message);
    case OPCODE_CONSTANT: return set_literal(new, line, message);
    case OPCODE_COMPARE: return has_one && set_direction(new, message);
    case OPCODE_WHILE: return set_new_loop(new, line, message);
    default:
      return opcode_has((Opcode)line->opcode, OPF_ELEMENTWISE) && line->has_operands &&
             line->rest.len == 0;
  }
}

InstMessage *new_message(const Module *module, InstId id, const Line *line, Bytes shape,
                         Arena *out) {
  InstMessage *message = arena_alloc(out, sizeof *message);
  *message = (InstMessage)REMAT_HLO__INSTRUCTION__INIT;
  message->shape = shape;
  const char *opcode = opcode_text((Opcode)line->opcode);
  set_bytes(&message->has_opcode, &message->opcode, str_make(opcode, strlen(opcode)));
  NewInst inst = {module, id, out};
  return set_attributes(&inst, line, message) ? message : NULL;
}
