#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/proto/line.h"
#include "emit/proto/patch.h"
#include "module_proto.h"
#include "support.h"

/* A module as XLA prints it, scheduled, with a fusion, a loop and a value that may be recomputed.
 */
#define HEAD "HloModule m, is_scheduled=true\n\n"
#define DOUBLE                                                          \
  "%double (x: f32[64]) -> f32[64] {\n  %x = f32[64]{0} parameter(0)\n" \
  "  ROOT %y = f32[64]{0} add(%x, %x), metadata={op_name=\"jit(f)/double\"}\n}\n\n"
#define LOOP                                                                           \
  "%less (s: (s32[], f32[64])) -> pred[] {\n  %s = (s32[], f32[64]{0}) parameter(0)\n" \
  "  %i = s32[] get-tuple-element(%s), index=0\n  %n = s32[] constant(3)\n"            \
  "  ROOT %c = pred[] compare(%i, %n), direction=LT\n}\n\n"                            \
  "%turn (t: (s32[], f32[64])) -> (s32[], f32[64]) {\n"                                \
  "  %t = (s32[], f32[64]{0}) parameter(0)\n"                                          \
  "  %j = s32[] get-tuple-element(%t), index=0\n  %one = s32[] constant(1)\n"          \
  "  %k = s32[] add(%j, %one)\n  %v = f32[64]{0} get-tuple-element(%t), index=1\n"     \
  "  ROOT %u = (s32[], f32[64]{0}) tuple(%k, %v)\n}\n\n"
#define ENTRY "ENTRY %e (p: f32[64]) -> f32[64] {\n  %p = f32[64]{0} parameter(0)\n"
#define BODY                                                                                  \
  "  %cos = f32[64]{0} cosine(%p), metadata={op_name=\"jit(f)/cos\"}\n"                       \
  "  %fused = f32[64]{0} fusion(%cos), kind=kLoop, calls=%double, metadata={op_name=\"d\"}\n" \
  "  %zero = s32[] constant(0)\n  %init = (s32[], f32[64]{0}) tuple(%zero, %fused)\n"         \
  "  %loop = (s32[], f32[64]{0}) while(%init), condition=%less, body=%turn\n"                 \
  "  %last = f32[64]{0} get-tuple-element(%loop), index=1\n"
#define ROOT "  ROOT %sum = f32[64]{0} add(%last, %cos), metadata={op_name=\"sum\"}\n}\n"
#define BEFORE HEAD DOUBLE LOOP ENTRY BODY ROOT

typedef struct Patched {
  Fixture before, after;
  Bytes original, made;
  ModuleMessage *message;
  rh_status status;
  char *diags;
} Patched;

static void patch_again(Patched *patched, Bytes data, const ProtoMark *mark) {
  TextBuffer buffer = {.arena = patched->after.out};
  rh_diags *diags = rh_diags_new();
  Writer *writer = malloc(sizeof *writer);
  writer_init(writer, text_take, &buffer);
  ProtoInput input = {patched->before.module, data.data, data.len};
  Arena *scratch = arena_new(arena_options(patched->after.scratch));
  patched->status = proto_patch(&input, patched->after.module, mark, writer, diags, scratch);
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  arena_free(scratch);
  free(writer);
  free(patched->diags);
  patched->diags = diags_as_text(diags, "", 0);
  ck_assert_uint_eq(rh_diags_len(diags), patched->status == RH_OK ? 0 : 1);
  ck_assert(patched->status == RH_OK || buffer.chars.len == 0);
  rh_diags_free(diags);
  patched->made = bytes_of(text_str(&buffer));
  patched->message = NULL;
  if (patched->status == RH_OK)
    patched->message = message_read_module(patched->made, patched->after.out);
}

static Patched patch(const char *before, const char *after) {
  Patched patched = {.before = fixture_parse(before), .after = fixture_parse(after)};
  patched.original = module_proto(patched.before.module, patched.before.out);
  patch_again(&patched, patched.original, &(ProtoMark){0});
  return patched;
}

static void patched_free(Patched *patched) {
  free(patched->diags);
  fixture_free(&patched->after);
  fixture_free(&patched->before);
}

/* ---- what a message says ---- */

static CompMessage *read_comp(const Patched *patched, const char *name) {
  for (size_t i = 0; i < patched->message->n_computations; i++) {
    CompMessage *comp = message_read_comp(patched->message->computations[i], patched->after.out);
    ck_assert_ptr_nonnull(comp);
    if (str_is(bytes_str(comp->name), name)) return comp;
  }
  return NULL;
}

static const InstMessage *inst_of(const CompMessage *comp, const char *name) {
  for (size_t i = 0; i < comp->n_instructions; i++) {
    if (str_is(bytes_str(comp->instructions[i]->name), name)) return comp->instructions[i];
  }
  ck_abort_msg("there is no %s", name);
}

static Str name_of_id(const CompMessage *comp, int64_t id) {
  for (size_t i = 0; i < comp->n_instructions; i++) {
    if (comp->instructions[i]->id == id) return bytes_str(comp->instructions[i]->name);
  }
  ck_abort_msg("there is no id %lld", (long long)id);
}

/* The attributes that module_proto() has put into a field that the program does not know. */
static Str unknown_of(const InstMessage *inst) {
  if (inst->base.n_unknown_fields == 0) return STR("");
  const ProtobufCMessageUnknownField *field = &inst->base.unknown_fields[0];
  uint32_t begin = field->data[0] & 128 ? 2 : 1;
  return (Str){(const char *)field->data + begin, (uint32_t)field->len - begin};
}

static void check_names(const CompMessage *comp, const int64_t *ids, size_t count,
                        const Module *module, const InstId *wanted, size_t num_wanted) {
  ck_assert_uint_eq(count, num_wanted);
  for (size_t i = 0; i < count; i++)
    ck_assert(str_equal(name_of_id(comp, ids[i]), inst_name(module, wanted[i])));
}

static void check_inst(const Patched *patched, const CompMessage *comp, InstId id) {
  const Module *after = patched->after.module;
  Line line;
  ck_assert(line_read(after, id, &line, patched->after.out));
  Str name = inst_name(after, id);
  const InstMessage *inst = inst_of(comp, arena_strndup(patched->after.out, name.data, name.len));
  ck_assert(str_is(bytes_str(inst->opcode), opcode_text((Opcode)line.opcode)));
  ck_assert(str_equal(bytes_str(inst->shape), line.shape) || shape_is_tuple(inst_shape(after, id)));
  ck_assert_int_eq(inst->id >> 32, comp->id);
  check_names(comp, inst->operand_ids, inst->n_operand_ids, after, inst_operands(after, id),
              inst_get(after, id)->num_operands);
  IdList control = inst_control(after, id)->predecessors;
  check_names(comp, inst->control_predecessor_ids, inst->n_control_predecessor_ids, after,
              id_list(after, control), control.len);
  if (inst->has_tuple_index) ck_assert_int_eq(inst->tuple_index, inst_get(after, id)->index);
  if (inst->base.n_unknown_fields) ck_assert(str_equal(unknown_of(inst), line.rest));
}

/* Everything that the text of a result says, the message says, too. */
static void check_patched(const Patched *patched) {
  const Module *after = patched->after.module;
  ck_assert_msg(patched->status == RH_OK, "%s", patched->diags);
  ck_assert_uint_eq(patched->message->base.n_unknown_fields, 1);
  ck_assert_uint_eq(patched->message->n_computations, after->comps.len);
  for (CompId id = 0; id < after->comps.len; id++) {
    Str name = comp_name(after, id);
    CompMessage *comp = read_comp(patched, arena_strndup(patched->after.out, name.data, name.len));
    ck_assert_ptr_nonnull(comp);
    ck_assert_uint_eq(comp->n_instructions, comp_num_insts(after, id));
    InstId root = comp_get(after, id)->root;
    ck_assert(str_equal(name_of_id(comp, comp->root_id), inst_name(after, root)));
    for (uint32_t i = 0; i < comp_num_insts(after, id); i++)
      check_inst(patched, comp, comp_inst(after, id, i));
  }
}

/* The names of a computation's sequence. */
static const char *sequence_of(const Patched *patched, const char *name) {
  const CompMessage *comp = read_comp(patched, name);
  const RematHlo__Order *order = patched->message->schedule;
  for (size_t i = 0; i < order->n_sequences; i++) {
    if (order->sequences[i]->computation_id != comp->id) continue;
    const RematHlo__Sequence *sequence = order->sequences[i]->sequence;
    const char *text = NULL;
    for (size_t k = 0; k < sequence->n_instruction_ids; k++) {
      Str inst = name_of_id(comp, sequence->instruction_ids[k]);
      text_add(patched->after.out, &text, "%.*s", (int)inst.len, inst.data);
    }
    return text;
  }
  return "none";
}

/* ---- results ---- */

START_TEST(nothing_changes) {
  Patched patched = patch(BEFORE, BEFORE);
  check_patched(&patched);
  ck_assert_uint_eq(patched.made.len, patched.original.len);
  ck_assert_mem_eq(patched.made.data, patched.original.data, patched.made.len);
  patched_free(&patched);
}
END_TEST

START_TEST(clones_have_what_their_originals_have) {
  Patched patched =
      patch(BEFORE, HEAD DOUBLE LOOP ENTRY BODY
            "  %cos.remat = f32[64]{0} cosine(%p), metadata={op_name=\"jit(f)/cos\"}, "
            "control-predecessors={%last}\n"
            "  ROOT %sum = f32[64]{0} add(%last, %cos.remat), "
            "metadata={op_name=\"sum\"}\n}\n");
  check_patched(&patched);
  CompMessage *entry = read_comp(&patched, "e");
  ck_assert(str_is(unknown_of(inst_of(entry, "cos.remat")), ", metadata={op_name=\"jit(f)/cos\"}"));
  ck_assert_uint_eq(inst_of(entry, "cos.remat")->n_control_predecessor_ids, 1);
  ck_assert_str_eq(sequence_of(&patched, "e"), "p cos fused zero init loop last cos.remat sum");
  ck_assert_str_eq(sequence_of(&patched, "turn"), "t j one k v u");
  ck_assert_str_eq(sequence_of(&patched, "double"), "none");
  ck_assert_int_eq(patched.message->entry_computation_id, entry->id);
  patched_free(&patched);
}
END_TEST

/* The ids are the places in the text, and the message has XLA's post order. */
START_TEST(order_and_removal) {
  Patched patched = patch(HEAD ENTRY
                          "  %a = f32[64]{0} negate(%p)\n  %b = f32[64]{0} exponential(%p)\n"
                          "  %dead = f32[64]{0} sine(%p)\n  ROOT %r = f32[64]{0} add(%a, %b)\n}\n",
                          HEAD ENTRY
                          "  %b = f32[64]{0} exponential(%p)\n  %a = f32[64]{0} negate(%p)\n"
                          "  ROOT %r = f32[64]{0} add(%a, %b)\n}\n");
  check_patched(&patched);
  CompMessage *entry = read_comp(&patched, "e");
  ck_assert_str_eq(sequence_of(&patched, "e"), "p b a r");
  ck_assert_int_eq(inst_of(entry, "b")->id, entry->id << 32 | 1);
  const char *order = NULL;
  for (size_t i = 0; i < entry->n_instructions; i++)
    text_add(patched.after.out, &order, "%.*s", (int)entry->instructions[i]->name.len,
             (const char *)entry->instructions[i]->name.data);
  ck_assert_str_eq(order, "p a b r");
  patched_free(&patched);
}
END_TEST

START_TEST(computations_are_cloned) {
  Patched patched = patch(
      BEFORE, HEAD DOUBLE
      "%double.clone (x.1: f32[64]) -> f32[64] {\n  %x.1 = f32[64]{0} parameter(0)\n"
      "  ROOT %y.1 = f32[64]{0} add(%x.1, %x.1), metadata={op_name=\"jit(f)/double\"}\n}\n\n" LOOP
          ENTRY BODY
      "  %fused.remat = f32[64]{0} fusion(%cos), kind=kLoop, calls=%double.clone, "
      "metadata={op_name=\"d\"}\n"
      "  ROOT %sum = f32[64]{0} add(%last, %fused.remat), metadata={op_name=\"sum\"}\n}\n");
  check_patched(&patched);
  CompMessage *clone = read_comp(&patched, "double.clone"), *entry = read_comp(&patched, "e");
  ck_assert(clone->is_fusion_computation && clone->id != read_comp(&patched, "double")->id);
  const InstMessage *fusion = inst_of(entry, "fused.remat");
  ck_assert_uint_eq(fusion->n_called_computation_ids, 1);
  ck_assert_int_eq(fusion->called_computation_ids[0], clone->id);
  ck_assert_str_eq(sequence_of(&patched, "double.clone"), "none");
  ck_assert_int_eq(inst_of(clone, "x.1")->parameter_number, 0);
  ck_assert_str_eq(sequence_of(&patched, "less"), "s i n c");
  patched_free(&patched);
}
END_TEST

/* What is like no original instruction is made from the module where little belongs to it. */
START_TEST(new_instructions) {
  Patched patched =
      patch(BEFORE, HEAD DOUBLE LOOP ENTRY BODY
            "  %pair = (f32[64]{0}, (s32[], f32[64]{0})) tuple(%cos, %loop)\n"
            "  %barrier = (f32[64]{0}, (s32[], f32[64]{0})) opt-barrier(%pair)\n"
            "  %part = f32[64]{0} get-tuple-element(%barrier), index=0\n  %copied = f32[64]{0} "
            "copy(%part)\n"
            "  ROOT %sum = f32[64]{0} add(%last, %copied), metadata={op_name=\"sum\"}\n}\n");
  check_patched(&patched);
  CompMessage *entry = read_comp(&patched, "e");
  ck_assert_int_eq(inst_of(entry, "part")->tuple_index, 0);
  ck_assert_str_eq(sequence_of(&patched, "e"),
                   "p cos fused zero init loop last pair barrier part copied sum");
  patched_free(&patched);
}
END_TEST

/* What a loop's new state changes: shapes, indices, the place of its counter. */
START_TEST(loops_get_other_states) {
  static const char config[] =
      "{\"known_trip_count\":{\"n\":\"3\"},\"known_induction_variable\":{\"tuple_index\":\"%d\"}}";
  char old_config[128], new_config[128], before[4096], after[4096];
  snprintf(old_config, sizeof old_config, config, 0);
  snprintf(new_config, sizeof new_config, config, 2);
  static const char text[] = HEAD
      "%%less (s: %s) -> pred[] {\n  %%s = %s parameter(0)\n"
      "  %%i = s32[] get-tuple-element(%%s), index=%d, metadata={op_name=\"i\"}\n"
      "  %%n = s32[] constant(3)\n  ROOT %%c = pred[] compare(%%i, %%n), direction=LT\n}\n\n"
      "%%turn (t: %s) -> %s {\n  ROOT %%t = %s parameter(0)\n}\n\n"
      "ENTRY %%e (p: f32[64]) -> %s {\n  %%p = f32[64]{0} parameter(0)\n"
      "  %%cos = f32[64]{0} cosine(%%p), metadata={op_name=\"jit(f)/cos\"}\n"
      "  %%zero = s32[] constant(0)\n  %%init = %s tuple(%s)\n"
      "  ROOT %%loop = %s while(%%init), condition=%%less, body=%%turn, backend_config=%s, "
      "metadata={op_name=\"w\"}\n}\n";
  const char *s = "(s32[], f32[64]{0})", *l = "(f32[64]{0}, f32[64]{0}, s32[])";
  snprintf(before, sizeof before, text, s, s, 0, s, s, s, s, s, "%zero, %cos", s, old_config);
  snprintf(after, sizeof after, text, l, l, 2, l, l, l, l, l, "%p, %cos, %zero", l, new_config);
  Patched patched = patch(before, after);
  check_patched(&patched);
  const InstMessage *loop = inst_of(read_comp(&patched, "e"), "loop");
  ck_assert(str_is(bytes_str(loop->backend_config), new_config));
  ck_assert(
      str_is(unknown_of(loop), ", condition=, body=, backend_config=, metadata={op_name=\"w\"}"));
  ck_assert_int_eq(inst_of(read_comp(&patched, "less"), "i")->tuple_index, 2);
  patched_free(&patched);
}
END_TEST

/* What was noted of a slice in one loop is left out in another one. */
START_TEST(slices_lose_their_notes) {
  static const char text[] = HEAD
      "ENTRY %%e (w: f32[4,8], i: s32[]) -> f32[1,8] {\n  %%w = f32[4,8]{1,0} parameter(0)\n"
      "  %%i = s32[] parameter(1)\n  %%z = s32[] constant(0)\n"
      "  %%row = f32[1,8]{1,0} dynamic-slice(%%w, %%i, %%z), dynamic_slice_sizes={1,8}, "
      "metadata={op_name=\"row\"}%s\n"
      "  ROOT %%sum = f32[1,8]{1,0} add(%%row, %%row)\n}\n";
  static const char note[] =
      ", backend_config={\"dynamic_slice_config\":{\"byte_offset\":\"0\",\"byte_stride\":\"32\"}}";
  char before[2048], after[2048];
  snprintf(before, sizeof before, text, note);
  snprintf(after, sizeof after, text, "");
  Patched patched = patch(before, after);
  check_patched(&patched);
  const InstMessage *row = inst_of(read_comp(&patched, "e"), "row");
  ck_assert(!row->has_backend_config);
  ck_assert(str_is(unknown_of(row), ", dynamic_slice_sizes={1,8}, metadata={op_name=\"row\"}"));
  patched_free(&patched);
  patched = patch(before, before);
  check_patched(&patched);
  ck_assert(inst_of(read_comp(&patched, "e"), "row")->has_backend_config);
  patched_free(&patched);
}
END_TEST

/* An operation that a loop carries: the line of its end does not say what it wraps, the message
 * does. `wrapped` is the computation's name, `value` what the body makes beside it. */
static const char *carried(Arena *out, const char *wrapped, const char *value) {
#define STATE "((f32[64]{0}), f32[64]{0}, s32[])"
  return arena_printf(out,
                      HEAD
                      "%%%s (x: f32[64]) -> f32[64] {\n  %%x = f32[64]{0} parameter(0)\n"
                      "  ROOT %%y = f32[64]{0} negate(%%x)\n}\n\n"
                      "%%less (s: (" STATE
                      ", s32[])) -> pred[] {\n"
                      "  %%s = (" STATE
                      ", s32[]) parameter(0)\n"
                      "  %%i = s32[] get-tuple-element(%%s), index=1\n  %%n = s32[] constant(3)\n"
                      "  ROOT %%c = pred[] compare(%%i, %%n), direction=LT\n}\n\n"
                      "%%turn (t: (" STATE ", s32[])) -> (" STATE
                      ", s32[]) {\n"
                      "  %%t = (" STATE
                      ", s32[]) parameter(0)\n"
                      "  %%j = s32[] get-tuple-element(%%t), index=1\n"
                      "  %%g = " STATE
                      " get-tuple-element(%%t), index=0\n"
                      "  %%done = f32[64]{0} async-done(%%g)\n  %%k = s32[] add(%%j, %%j)\n%s"
                      "  %%begun = " STATE
                      " async-start(%%done), calls=%%%s\n"
                      "  ROOT %%u = (" STATE
                      ", s32[]) tuple(%%begun, %%k)\n}\n\n"
                      "ENTRY %%e (p: f32[64]) -> f32[64] {\n  %%p = f32[64]{0} parameter(0)\n"
                      "  %%zero = s32[] constant(0)\n  %%start = " STATE
                      " async-start(%%p), calls=%%%s\n"
                      "  %%init = (" STATE
                      ", s32[]) tuple(%%start, %%zero)\n"
                      "  %%loop = (" STATE
                      ", s32[]) while(%%init), condition=%%less, body=%%turn\n"
                      "  %%h = " STATE
                      " get-tuple-element(%%loop), index=0\n"
                      "  ROOT %%last = f32[64]{0} async-done(%%h)\n}\n",
                      wrapped, value, wrapped, wrapped);
}

START_TEST(what_a_loop_carries_keeps_its_computation) {
  Arena *out = arena_new(NULL);
  const char *before = carried(out, "wrapped", "");
  Patched patched = patch(before, carried(out, "wrapped", "  %k.remat = s32[] add(%j, %j)\n"));
  check_patched(&patched);
  CompMessage *wrapped = read_comp(&patched, "wrapped"), *turn = read_comp(&patched, "turn");
  const InstMessage *done = inst_of(turn, "done");
  ck_assert_uint_eq(done->n_called_computation_ids, 1);
  ck_assert_int_eq(done->called_computation_ids[0], wrapped->id);
  patched_free(&patched);
  patched = patch(before, carried(out, "other", ""));
  ck_assert_int_eq(patched.status, RH_ERR_INPUT);
  ck_assert_msg(strstr(patched.diags, "does not say what it calls"), "%s", patched.diags);
  patched_free(&patched);
  arena_free(out);
}
END_TEST

/* What the rewriting of loops adds, with the attributes that their messages need. */
START_TEST(new_instructions_with_attributes) {
  Patched patched =
      patch(BEFORE, HEAD DOUBLE
            "%kernel (a: f32[8,64], b: s32[]) -> f32[64] {\n  %a = f32[8,64]{1,0} parameter(0)\n"
            "  %b = s32[] parameter(1)\n  %minus = s32[] constant(-12)\n  %at = s32[] multiply(%b, "
            "%minus)\n"
            "  %less.1 = pred[] compare(%b, %minus), direction=GE\n"
            "  %big = s64[] constant(5000000000)\n  %none = s32[] constant(0)\n"
            "  %cut = f32[1,64]{1,0} dynamic-slice(%a, %at, %none), dynamic_slice_sizes={1,64}\n"
            "  %put = f32[8,64]{1,0} dynamic-update-slice(%a, %cut, %at, %none)\n"
            "  %first = f32[1,64]{1,0} slice(%put), slice={[0:1], [0:64]}\n"
            "  ROOT %row = f32[64]{0} bitcast(%first)\n}\n\n" LOOP ENTRY BODY
            "  %all = f32[8,64]{1,0} broadcast(%zero), dimensions={}\n"
            "  %taken = f32[64]{0} fusion(%all, %zero), kind=kLoop, calls=%kernel\n"
            "  ROOT %sum = f32[64]{0} add(%last, %taken), metadata={op_name=\"sum\"}\n}\n");
  ck_assert_msg(patched.status == RH_OK, "%s", patched.diags);
  CompMessage *kernel = read_comp(&patched, "kernel"), *entry = read_comp(&patched, "e");
  ck_assert(kernel->is_fusion_computation);
  ck_assert_int_eq(inst_of(kernel, "b")->parameter_number, 1);
  const InstMessage *cut = inst_of(kernel, "cut"), *first = inst_of(kernel, "first");
  ck_assert_uint_eq(cut->n_dynamic_slice_sizes, 2);
  ck_assert_int_eq(cut->dynamic_slice_sizes[1], 64);
  ck_assert_uint_eq(first->n_slice_dimensions, 2);
  ck_assert_int_eq(first->slice_dimensions[1]->limit, 64);
  ck_assert_int_eq(first->slice_dimensions[1]->stride, 1);
  ck_assert(str_is(bytes_str(inst_of(entry, "taken")->fusion_kind), "kLoop"));
  ck_assert(str_is(bytes_str(inst_of(kernel, "less.1")->comparison_direction), "GE"));
  /* A literal: its shape in field 1, and -12 as a packed list in field 4. */
  Bytes minus = inst_of(kernel, "minus")->literal;
  static const uint8_t wanted[] = {0x22, 10, 0xf4, 255, 255, 255, 255, 255, 255, 255, 255, 1};
  ck_assert_uint_ge(minus.len, sizeof wanted);
  ck_assert_mem_eq(minus.data + minus.len - sizeof wanted, wanted, sizeof wanted);
  /* f32[1,64]{1,0}, which the original module does not have. */
  static const uint8_t shape[] = {0x10, 11, 0x1a, 2, 1, 64,   0x2a, 7, 10, 2,
                                  1,    0,  0x80, 1, 1, 0x32, 2,    0, 0};
  ck_assert_uint_eq(cut->shape.len, sizeof shape);
  ck_assert_mem_eq(cut->shape.data, shape, sizeof shape);
  patched_free(&patched);
}
END_TEST

START_TEST(what_cannot_be_made_is_refused) {
  static const struct {
    const char *rest, *why;
  } cases[] = {
      {"  ROOT %sum = f32[64]{0} reduce-precision(%last), exponent_bits=8, mantissa_bits=7\n}\n",
       "no instruction of the original module"},
      {"  ROOT %sum = f32[64]{0} add(%last, %cos), metadata={op_name=\"other\"}\n}\n",
       "no instruction of the original module"},
      {"  %a = f16[64]{0:T(8)} convert(%cos)\n"
       "  ROOT %sum = f32[64]{0} add(%last, %cos), metadata={op_name=\"sum\"}\n}\n",
       "no such shape"},
      {"  %a = f32[64]{0} copy(%cos), metadata={op_name=\"new\"}\n"
       "  ROOT %sum = f32[64]{0} add(%last, %cos), metadata={op_name=\"sum\"}\n}\n",
       "no instruction of the original module"},
      {"  %a = pred[] constant(true)\n"
       "  ROOT %sum = f32[64]{0} add(%last, %cos), metadata={op_name=\"sum\"}\n}\n",
       "no instruction of the original module"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[4096];
    snprintf(text, sizeof text, "%s%s", HEAD DOUBLE LOOP ENTRY BODY, cases[i].rest);
    Patched patched = patch(BEFORE, text);
    ck_assert_int_eq(patched.status, RH_ERR_INPUT);
    ck_assert_msg(strstr(patched.diags, cases[i].why), "%zu: %s", i, patched.diags);
    patched_free(&patched);
  }
  Patched other =
      patch(BEFORE, "HloModule other, is_scheduled=true\n\n" DOUBLE LOOP ENTRY BODY ROOT);
  ck_assert_msg(strstr(other.diags, "header"), "%s", other.diags);
  patched_free(&other);
}
END_TEST

START_TEST(the_mark_is_an_attribute_of_the_first_parameter) {
  Patched patched = patch(BEFORE, BEFORE);
  for (int i = 1; i <= 2; i++) { /* the second one is added to the first one */
    patch_again(&patched, i == 1 ? patched.original : patched.made, &(ProtoMark){"remat", "1 2"});
    check_patched(&patched);
    const InstMessage *param = inst_of(read_comp(&patched, "e"), "p");
    ck_assert(param->has_frontend_attributes);
    RematHlo__FrontendAttributes *found =
        message_read_attributes(param->frontend_attributes, patched.after.out);
    ck_assert_uint_eq(found->n_attributes, (size_t)i);
    ck_assert(str_is(bytes_str(found->attributes[0]->key), "remat"));
    ck_assert(str_is(bytes_str(found->attributes[0]->value), "1 2"));
  }
  patched_free(&patched);
}
END_TEST

/* ---- the public function ---- */

static int take(void *context, const char *data, size_t length) {
  return text_take(context, data, length);
}

static int refuse(void *context, const char *data, size_t length) {
  (void)context, (void)data, (void)length;
  return 1;
}

START_TEST(public_function) {
  rh_module *before = NULL, *scheduled = NULL, *result = NULL;
  ck_assert_int_eq(rh_parse(BEFORE, sizeof BEFORE - 1, NULL, &before, NULL), RH_OK);
  ck_assert_int_eq(rh_schedule(before, NULL, NULL, &scheduled, NULL), RH_OK);
  rh_remat_options remat = RH_REMAT_OPTIONS_INIT;
  remat.algorithm = "none";
  ck_assert_int_eq(rh_remat(scheduled, NULL, &remat, &result, NULL, NULL), RH_OK);
  Arena *arena = arena_new(arena_options(before->arena));
  Bytes proto = module_proto(before->module, arena);
  /* A module that was scheduled stands for the one that was parsed, and is printed for the result.
   */
  const rh_module *pairs[][2] = {{before, result}, {scheduled, result}, {before, scheduled}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    TextBuffer made = {.arena = arena};
    ck_assert_int_eq(
        rh_patch_proto(pairs[i][0], pairs[i][1], proto.data, proto.len, NULL, take, &made, NULL),
        RH_OK);
    ck_assert_uint_eq(made.chars.len, proto.len);
    ck_assert_mem_eq(made.chars.data, proto.data, proto.len);
  }
  rh_patch_options options = RH_PATCH_OPTIONS_INIT;
  rh_diags *diags = rh_diags_new();
  ck_assert_int_eq(
      rh_patch_proto(before, result, proto.data, proto.len, &options, refuse, NULL, diags),
      RH_ERR_WRITE);
  ck_assert_int_eq(rh_patch_proto(before, result, proto.data, 10, &options, refuse, NULL, diags),
                   RH_ERR_INPUT);
  size_t len = rh_diags_len(diags);
  ck_assert_int_eq(rh_diags_get(diags, len - 1)->code, RH_CODE_PROTO);
  options.attribute = "name";
  ck_assert_int_eq(
      rh_patch_proto(before, result, proto.data, proto.len, &options, refuse, NULL, diags),
      RH_ERR_USAGE);
  options.struct_size = offsetof(rh_patch_options, value); /* of a program that knows no values */
  options.attribute = NULL;
  ck_assert_int_eq(
      rh_patch_proto(before, result, proto.data, proto.len, &options, refuse, NULL, diags),
      RH_ERR_WRITE);
  rh_diags_free(diags);
  arena_free(arena);
  rh_module_free(result);
  rh_module_free(scheduled);
  rh_module_free(before);
}
END_TEST

/* ---- messages that are broken ---- */

START_TEST(another_module_is_refused) {
  Patched patched = patch(BEFORE, BEFORE);
  Fixture other = fixture_parse(HEAD ENTRY "  ROOT %q = f32[64]{0} negate(%p)\n}\n");
  patch_again(&patched, module_proto(other.module, other.out), &(ProtoMark){0});
  ck_assert_int_eq(patched.status, RH_ERR_INPUT);
  ck_assert_msg(strstr(patched.diags, "another number of computations"), "%s", patched.diags);
  patch_again(&patched, bytes_of(STR("")), &(ProtoMark){0});
  ck_assert_int_eq(patched.status, RH_ERR_INPUT);
  patch_again(&patched, bytes_of(STR("HloModule m")), &(ProtoMark){0});
  ck_assert_msg(strstr(patched.diags, "not an HloModuleProto"), "%s", patched.diags);
  fixture_free(&other);
  patched_free(&patched);
}
END_TEST

/* Each message that is cut off, and each with one byte that is another one: an error, or a message.
 */
START_TEST(broken_messages_are_refused) {
  Patched patched =
      patch(BEFORE, HEAD DOUBLE LOOP ENTRY BODY
            "  %cos.remat = f32[64]{0} cosine(%p), metadata={op_name=\"jit(f)/cos\"}\n"
            "  ROOT %sum = f32[64]{0} add(%last, %cos.remat), "
            "metadata={op_name=\"sum\"}\n}\n");
  Bytes whole = patched.original;
  uint8_t *copy = malloc(whole.len);
  size_t num_refused = 0;
  for (size_t len = 0; len < whole.len;
       len++) { /* memory of its own, so that a sanitizer sees more */
    uint8_t *part = malloc(len + 1);
    memcpy(part, whole.data, len);
    patch_again(&patched, (Bytes){len, part}, &(ProtoMark){0});
    num_refused += patched.status != RH_OK;
    free(part);
  }
  ck_assert_uint_ge(num_refused, whole.len - 32); /* what is last may be missing */
  for (size_t at = 0; at < whole.len; at++) {
    static const uint8_t flips[] = {1, 8, 0x80, 0xff};
    for (size_t i = 0; i < sizeof flips; i++) {
      memcpy(copy, whole.data, whole.len);
      copy[at] ^= flips[i];
      patch_again(&patched, (Bytes){whole.len, copy}, &(ProtoMark){"a", "b"});
      ck_assert(patched.status == RH_OK || patched.status == RH_ERR_INPUT);
    }
  }
  free(copy);
  patched_free(&patched);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("proto_patch");
  TCase *tc = tcase_create("proto_patch");
  tcase_add_test(tc, nothing_changes);
  tcase_add_test(tc, clones_have_what_their_originals_have);
  tcase_add_test(tc, order_and_removal);
  tcase_add_test(tc, computations_are_cloned);
  tcase_add_test(tc, new_instructions);
  tcase_add_test(tc, loops_get_other_states);
  tcase_add_test(tc, slices_lose_their_notes);
  tcase_add_test(tc, what_a_loop_carries_keeps_its_computation);
  tcase_add_test(tc, new_instructions_with_attributes);
  tcase_add_test(tc, what_cannot_be_made_is_refused);
  tcase_add_test(tc, the_mark_is_an_attribute_of_the_first_parameter);
  tcase_add_test(tc, public_function);
  tcase_add_test(tc, another_module_is_refused);
  tcase_add_test(tc, broken_messages_are_refused);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
