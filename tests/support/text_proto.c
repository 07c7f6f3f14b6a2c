#include "text_proto.h"

const char text_proto_text[] =
    "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, "
    "entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3]{1,0}, pred[])}\n"
    "\n"
    "FileNames\n"
    "1 \"a\\\"b.py\"\n"
    "\n"
    "FunctionNames\n"
    "1 \"step\"\n"
    "\n"
    "FileLocations\n"
    "1 {file_name_id=1 function_name_id=1 line=7 end_line=0 column=2 end_column=0}\n"
    "\n"
    "StackFrames\n"
    "1 {file_location_id=1 parent_frame_id=1}\n"
    "\n"
    "\n"
    "%fused (x: f32[2,3]) -> f32[2,3] {\n"
    "  %x = f32[2,3]{1,0} parameter(0)\n"
    "  ROOT %y = f32[2,3]{1,0} add(%x, %x)\n"
    "}\n"
    "\n"
    "ENTRY %e (p: f32[2,3]) -> (f32[2,3], pred[]) {\n"
    "  %p = f32[2,3]{1,0} parameter(0)\n"
    "  %yes = pred[] constant(true)\n"
    "  %c = f32[2,3]{1,0} constant({ { 1, -0.5, 3e+10 }, { 0, 1.00000012, inf } })\n"
    "  %f = f32[2,3]{1,0} fusion(%p), kind=kLoop, calls=%fused, "
    "metadata={op_name=\"jit(f)/add\" stack_frame_id=1}\n"
    "  %m = f32[2,3]{1,0} multiply(%f, %c), frontend_attributes={a=\"1\",b={}}, "
    "control-predecessors={%yes}\n"
    "  ROOT %t = (f32[2,3]{1,0}, pred[]) tuple(%m, %yes)\n"
    "}\n"
    "\n";

enum { PRED = 1, F32 = 11, TUPLE = 13, FIRST_COMP = 7 };

Bytes text_bytes(const char *text) {
  return bytes_of(str_make(text, strlen(text)));
}

InstText text_inst(const char *name, const char *opcode, Bytes shape) {
  InstText inst;
  remat_hlo_text__instruction__init(&inst);
  inst.name = text_bytes(name);
  inst.opcode = text_bytes(opcode);
  inst.shape = shape;
  return inst;
}

Bytes text_shape(int32_t type, const int64_t *dims, size_t rank, Arena *out) {
  RematHloText__Layout layout = REMAT_HLO_TEXT__LAYOUT__INIT;
  layout.n_minor_to_major = rank;
  layout.minor_to_major = arena_array(out, int64_t, rank);
  for (size_t i = 0; i < rank; i++)
    layout.minor_to_major[i] = (int64_t)(rank - 1 - i);
  layout.tail_padding_alignment_in_elements = 1;
  RematHloText__Shape shape = REMAT_HLO_TEXT__SHAPE__INIT;
  shape.element_type = type;
  shape.n_dimensions = rank;
  shape.dimensions = (int64_t *)(uintptr_t)dims;
  shape.layout = &layout;
  return message_write(&shape.base, out);
}

Bytes text_tuple(Bytes *elements, size_t count, Arena *out) {
  RematHloText__Shape shape = REMAT_HLO_TEXT__SHAPE__INIT;
  shape.element_type = TUPLE;
  shape.n_tuple_shapes = count;
  shape.tuple_shapes = elements;
  return message_write(&shape.base, out);
}

/* The upper half of an id is that of its computation. */
static int64_t id_of(int64_t comp, int64_t place) {
  return comp << 32 | place;
}

static void set_ids(int64_t **ids, size_t count, int64_t comp, Arena *out) {
  int64_t *made = arena_array(out, int64_t, count);
  for (size_t i = 0; i < count; i++)
    made[i] = id_of(comp, (*ids)[i]);
  *ids = made;
}

static Bytes make_comp(const char *name, int64_t id, const InstText *insts, size_t count,
                       Arena *out) {
  RematHloText__Computation comp = REMAT_HLO_TEXT__COMPUTATION__INIT;
  comp.name = text_bytes(name);
  comp.id = id;
  comp.root_id = id_of(id, (int64_t)count - 1);
  comp.n_instructions = count;
  comp.instructions = arena_array(out, Bytes, count);
  for (size_t i = 0; i < count; i++) {
    InstText inst = insts[i];
    inst.id = id_of(id, (int64_t)i);
    set_ids(&inst.operand_ids, inst.n_operand_ids, id, out);
    set_ids(&inst.control_predecessor_ids, inst.n_control_predecessor_ids, id, out);
    comp.instructions[i] = message_write(&inst.base, out);
  }
  return message_write(&comp.base, out);
}

static RematHloText__ProgramShape program_shape(Bytes *parameter, Bytes result) {
  RematHloText__ProgramShape shape = REMAT_HLO_TEXT__PROGRAM_SHAPE__INIT;
  shape.n_parameters = 1;
  shape.parameters = parameter;
  shape.result = result;
  return shape;
}

Bytes text_module(const InstText *insts, size_t count, Arena *out) {
  Bytes comp = make_comp("e", FIRST_COMP, insts, count, out);
  Bytes parameter = insts[0].shape;
  RematHloText__ProgramShape shape = program_shape(&parameter, insts[count - 1].shape);
  TextModule module = REMAT_HLO_TEXT__MODULE__INIT;
  module.name = text_bytes("m");
  module.entry_computation_id = FIRST_COMP;
  module.host_program_shape = &shape;
  module.n_computations = 1;
  module.computations = &comp;
  return message_write(&module.base, out);
}

static Bytes make_fused(Bytes shape, Arena *out) {
  InstText insts[] = {text_inst("x", "parameter", shape), text_inst("y", "add", shape)};
  insts[1].n_operand_ids = 2;
  insts[1].operand_ids = (int64_t[]){0, 0};
  return make_comp("fused", FIRST_COMP + 1, insts, 2, out);
}

static Bytes make_attributes(Arena *out) {
  RematHloText__FrontendAttributes__Entry entries[] = {
      REMAT_HLO_TEXT__FRONTEND_ATTRIBUTES__ENTRY__INIT,
      REMAT_HLO_TEXT__FRONTEND_ATTRIBUTES__ENTRY__INIT};
  entries[0].key = text_bytes("b");
  entries[0].value = text_bytes("{}");
  entries[1].key = text_bytes("a");
  entries[1].value = text_bytes("1");
  RematHloText__FrontendAttributes attributes = REMAT_HLO_TEXT__FRONTEND_ATTRIBUTES__INIT;
  attributes.n_map = 2;
  attributes.map = (RematHloText__FrontendAttributes__Entry *[]){&entries[0], &entries[1]};
  return message_write(&attributes.base, out);
}

static Bytes make_metadata(Arena *out) {
  RematHloText__Metadata metadata = REMAT_HLO_TEXT__METADATA__INIT;
  metadata.op_name = text_bytes("jit(f)/add");
  metadata.stack_frame_id = 2;
  return message_write(&metadata.base, out);
}

static Bytes make_floats(Bytes shape, Arena *out) {
  RematHloText__Literal literal = REMAT_HLO_TEXT__LITERAL__INIT;
  literal.shape = shape;
  literal.n_f32s = 6;
  literal.f32s = (float[]){1, -0.5F, 3e10F, 0, 1.00000012F, 1e30F * 1e30F};
  return message_write(&literal.base, out);
}

static Bytes make_flag(Bytes shape, Arena *out) {
  RematHloText__Literal literal = REMAT_HLO_TEXT__LITERAL__INIT;
  literal.shape = shape;
  literal.n_preds = 1;
  literal.preds = (protobuf_c_boolean[]){1};
  return message_write(&literal.base, out);
}

static Bytes make_entry(Bytes shape, Bytes flag, Bytes tuple, Arena *out) {
  InstText insts[] = {text_inst("p", "parameter", shape), text_inst("c", "constant", shape),
                      text_inst("f", "fusion", shape),    text_inst("yes", "constant", flag),
                      text_inst("m", "multiply", shape),  text_inst("t", "tuple", tuple)};
  insts[1].literal = make_floats(shape, out);
  insts[2].n_operand_ids = 1;
  insts[2].operand_ids = (int64_t[]){0};
  insts[2].fusion_kind = text_bytes("kLoop");
  insts[2].n_called_computation_ids = 1;
  insts[2].called_computation_ids = (int64_t[]){FIRST_COMP + 1};
  insts[2].metadata = make_metadata(out);
  insts[3].literal = make_flag(flag, out);
  insts[4].n_operand_ids = 2;
  insts[4].operand_ids = (int64_t[]){2, 1};
  insts[4].n_control_predecessor_ids = 1;
  insts[4].control_predecessor_ids = (int64_t[]){3};
  insts[4].frontend_attributes = make_attributes(out);
  insts[5].n_operand_ids = 2;
  insts[5].operand_ids = (int64_t[]){4, 3};
  return make_comp("e", FIRST_COMP, insts, 6, out);
}

/* The second of two frames is the one that is used. */
static RematHloText__StackFrameIndex *make_frames(Arena *out) {
  RematHloText__StackFrameIndex *index = arena_alloc(out, sizeof *index);
  RematHloText__StackFrameIndex__FileLocation *place = arena_alloc(out, sizeof *place);
  RematHloText__StackFrameIndex__StackFrame *frame = arena_alloc(out, 2 * sizeof *frame);
  *index = (RematHloText__StackFrameIndex)REMAT_HLO_TEXT__STACK_FRAME_INDEX__INIT;
  *place = (RematHloText__StackFrameIndex__FileLocation)
      REMAT_HLO_TEXT__STACK_FRAME_INDEX__FILE_LOCATION__INIT;
  frame[0] = (RematHloText__StackFrameIndex__StackFrame)
      REMAT_HLO_TEXT__STACK_FRAME_INDEX__STACK_FRAME__INIT;
  place->file_name_id = 2;
  place->function_name_id = 1;
  place->line = 7;
  place->column = 2;
  frame[0].file_location_id = 1;
  frame[1] = frame[0];
  index->n_file_names = 2;
  index->file_names = arena_array(out, Bytes, 2);
  index->file_names[0] = text_bytes("unused.py");
  index->file_names[1] = text_bytes("a\"b.py");
  index->n_function_names = 1;
  index->function_names = arena_array(out, Bytes, 1);
  index->function_names[0] = text_bytes("step");
  index->n_file_locations = 1;
  index->file_locations = arena_array(out, RematHloText__StackFrameIndex__FileLocation *, 1);
  index->file_locations[0] = place;
  index->n_stack_frames = 2;
  index->stack_frames = arena_array(out, RematHloText__StackFrameIndex__StackFrame *, 2);
  index->stack_frames[0] = &frame[0];
  index->stack_frames[1] = &frame[1];
  return index;
}

Bytes text_proto(Arena *out) {
  Bytes shape = text_shape(F32, (int64_t[]){2, 3}, 2, out);
  Bytes flag = text_shape(PRED, NULL, 0, out);
  Bytes tuple = text_tuple((Bytes[]){shape, flag}, 2, out);
  /* A callee comes before its caller. */
  Bytes comps[] = {make_fused(shape, out), make_entry(shape, flag, tuple, out)};
  RematHloText__ProgramShape program = program_shape(&shape, tuple);
  int64_t order[] = {0, 3, 1, 2, 4, 5};
  RematHloText__Schedule__Sequence sequence = REMAT_HLO_TEXT__SCHEDULE__SEQUENCE__INIT;
  RematHloText__Schedule__Entry scheduled = REMAT_HLO_TEXT__SCHEDULE__ENTRY__INIT;
  RematHloText__Schedule schedule = REMAT_HLO_TEXT__SCHEDULE__INIT;
  sequence.n_instruction_ids = 6;
  sequence.instruction_ids = order;
  set_ids(&sequence.instruction_ids, 6, FIRST_COMP, out);
  scheduled.computation_id = FIRST_COMP;
  scheduled.sequence = &sequence;
  schedule.n_sequences = 1;
  schedule.sequences = (RematHloText__Schedule__Entry *[]){&scheduled};
  RematHloText__Aliases__Entry alias = REMAT_HLO_TEXT__ALIASES__ENTRY__INIT;
  RematHloText__Aliases aliases = REMAT_HLO_TEXT__ALIASES__INIT;
  alias.n_output_shape_index = 1;
  alias.output_shape_index = (int64_t[]){0};
  alias.kind = 1;
  aliases.n_entries = 1;
  aliases.entries = (RematHloText__Aliases__Entry *[]){&alias};
  TextModule module = REMAT_HLO_TEXT__MODULE__INIT;
  module.name = text_bytes("m");
  module.entry_computation_id = FIRST_COMP;
  module.n_computations = 2;
  module.computations = comps;
  module.host_program_shape = &program;
  module.schedule = &schedule;
  module.input_output_alias = &aliases;
  module.stack_frame_index = make_frames(out);
  return message_write(&module.base, out);
}
