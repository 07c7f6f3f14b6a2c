#include "support.h"
#include "text_proto.h"

enum { PRED = 1, S32 = 4, U8 = 6, U64 = 9, F16 = 10, F32 = 11, F64 = 12, C64 = 15, BF16 = 16 };

static Arena *arena;
static rh_diags *diags;

static void set_up(void) {
  arena = arena_new(NULL);
  diags = rh_diags_new();
}

static void tear_down(void) {
  rh_diags_free(diags);
  arena_free(arena);
}

static rh_status print(Bytes data, TextBuffer *text) {
  *text = (TextBuffer){.arena = arena};
  return rh_print_proto(data.data, data.len, text_take, text, diags);
}

static const rh_diag *last_diag(void) {
  ck_assert_uint_gt(rh_diags_len(diags), 0);
  return rh_diags_get(diags, rh_diags_len(diags) - 1);
}

/* Fails with a code, and writes nothing. */
static void expect_refused(Bytes data, rh_code code, const char *what) {
  TextBuffer text;
  ck_assert_int_eq(print(data, &text), RH_ERR_INPUT);
  ck_assert_int_eq(last_diag()->code, code);
  ck_assert_msg(strstr(last_diag()->message, what), "'%s' is not in: %s", what,
                last_diag()->message);
  ck_assert_uint_eq(text.chars.len, 0);
}

START_TEST(prints_a_module) {
  TextBuffer text;
  ck_assert_int_eq(print(text_proto(arena), &text), RH_OK);
  ck_assert_str_eq(text_c_string(&text), text_proto_text);
}
END_TEST

/* The text is one that the parser reads. */
START_TEST(parses) {
  TextBuffer text;
  rh_module *module;
  ck_assert_int_eq(print(text_proto(arena), &text), RH_OK);
  ck_assert_int_eq(rh_parse(text.chars.data, text.chars.len, NULL, &module, diags), RH_OK);
  ck_assert_uint_eq(rh_get_info(module)->num_instructions, 8);
  rh_module_free(module);
}
END_TEST

/* The bytes as field 1 of a message that has another field, too. */
static Bytes wrapped(Bytes data) {
  Bytes outer = {.data = arena_alloc(arena, data.len + 16)};
  outer.data[outer.len++] = 0x0a;
  for (size_t left = data.len; left; left >>= 7)
    outer.data[outer.len++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  memcpy(outer.data + outer.len, data.data, data.len);
  outer.len += data.len;
  memcpy(outer.data + outer.len, "\x1a\x00", 2);
  outer.len += 2;
  return outer;
}

START_TEST(prints_what_dumps_wrap) {
  Bytes shape = text_shape(F32, NULL, 0, arena);
  InstText inst = text_inst("p", "parameter", shape);
  Bytes data = text_module(&inst, 1, arena);
  TextModule *module = remat_hlo_text__module__unpack(NULL, data.len, data.data);
  module->entry_computation_name = (Bytes){.len = 1, .data = (uint8_t *)strdup("e")};
  Bytes named = message_write(&module->base, arena);
  remat_hlo_text__module__free_unpacked(module, NULL);
  TextBuffer plain, text;
  ck_assert_int_eq(print(named, &plain), RH_OK);
  Bytes proto = wrapped(named);
  for (int level = 0; level < 2; level++) { /* HloProto, HloSnapshot */
    ck_assert_int_eq(print(proto, &text), RH_OK);
    ck_assert_str_eq(text_c_string(&text), text_c_string(&plain));
    proto = wrapped(proto);
  }
  ck_assert_int_eq(print(proto, &text), RH_ERR_INPUT);
}
END_TEST

/* The sharding that JAX gives to the arguments of a program for one device. */
START_TEST(prints_shardings_on_no_mesh) {
  static const struct {
    size_t rank;
    const char *printed;
  } cases[] = {{0, "sharding={mesh[], replicated}"}, {2, "sharding={mesh[], [{}, {}]}"}};
  RematHloText__NamedSharding__Dimension dim = REMAT_HLO_TEXT__NAMED_SHARDING__DIMENSION__INIT;
  RematHloText__NamedSharding__Dimension *dims[] = {&dim, &dim};
  RematHloText__NamedSharding named = REMAT_HLO_TEXT__NAMED_SHARDING__INIT;
  RematHloText__Sharding sharding = REMAT_HLO_TEXT__SHARDING__INIT;
  InstText inst = text_inst("p", "parameter", text_shape(F32, (int64_t[]){1, 1}, 2, arena));
  inst.of_sharding_case = REMAT_HLO_TEXT__INSTRUCTION__OF_SHARDING_SHARDING;
  sharding.named = &named;
  named.dimensions = dims;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TextBuffer text;
    named.n_dimensions = cases[i].rank;
    dim.is_closed = true;
    inst.sharding = message_write(&sharding.base, arena);
    ck_assert_int_eq(print(text_module(&inst, 1, arena), &text), RH_OK);
    ck_assert_msg(strstr(text_c_string(&text), cases[i].printed), "%s", text_c_string(&text));
  }
  dim.is_closed = false;
  inst.sharding = message_write(&sharding.base, arena);
  expect_refused(text_module(&inst, 1, arena), RH_CODE_NO_TEXT, "mesh");
  dim.is_closed = true;
  named.mesh = text_bytes("x");
  inst.sharding = message_write(&sharding.base, arena);
  expect_refused(text_module(&inst, 1, arena), RH_CODE_NO_TEXT, "mesh");
  named.mesh = (Bytes){0};
  sharding.type = 4; /* manual */
  inst.sharding = message_write(&sharding.base, arena);
  expect_refused(text_module(&inst, 1, arena), RH_CODE_NO_TEXT, "more than its type");
}
END_TEST

static int refuse_to_write(void *context, const char *data, size_t length) {
  (void)context, (void)data, (void)length;
  return 1;
}

START_TEST(reports_failed_writes) {
  Bytes data = text_proto(arena);
  ck_assert_int_eq(rh_print_proto(data.data, data.len, refuse_to_write, NULL, NULL), RH_ERR_WRITE);
}
END_TEST

/* ---- literals ---- */

typedef struct LiteralCase {
  int32_t type;
  int64_t dims[4];
  size_t rank;
  RematHloText__Literal values;
  const char *text;
} LiteralCase;

#define NO_VALUES \
  { .base = PROTOBUF_C_MESSAGE_INIT(&remat_hlo_text__literal__descriptor) }
#define VALUES(...) \
  { .base = PROTOBUF_C_MESSAGE_INIT(&remat_hlo_text__literal__descriptor), __VA_ARGS__ }
#define LIST(field, type, count, ...)       \
  .n_##field = (count), .field = (type[]) { \
    __VA_ARGS__                             \
  }
#define BYTES(field, count, ...) .field = {(count), (uint8_t[]){__VA_ARGS__}}
static LiteralCase literal_cases[] = {
    {PRED, {0}, 0, VALUES(LIST(preds, protobuf_c_boolean, 1, 0)), "false"},
    {PRED, {2}, 1, VALUES(LIST(preds, protobuf_c_boolean, 2, 0, 1)), "{0, 1}"},
    {S32, {0}, 0, VALUES(LIST(s32s, int32_t, 1, -12)), "-12"},
    {S32, {0}, 1, NO_VALUES, "{}"},
    {S32, {2, 1}, 2, VALUES(LIST(s32s, int32_t, 2, 1, 2)), "{ {1}, {2} }"},
    {S32, {1, 1, 2}, 3, VALUES(LIST(s32s, int32_t, 2, 1, 2)), "{ { { 1, 2 } } }"},
    {S32,
     {2, 1, 1, 1},
     4,
     VALUES(LIST(s32s, int32_t, 2, 1, 2)),
     "{ { /*i0=0*/ { /*i1=0*/ {1} } }, { /*i0=1*/ { /*i1=0*/ {2} } } }"},
    {S32, {2, 0}, 2, NO_VALUES, "{ {}, {} }"},
    {U8, {2}, 1, VALUES(BYTES(u8s, 2, 0, 255)), "{0, 255}"},
    {U64, {0}, 0, VALUES(LIST(u64s, uint64_t, 1, UINT64_MAX)), "18446744073709551615"},
    {F16, {3}, 1, VALUES(BYTES(f16s, 6, 0, 0x3c, 0x66, 0x2e, 1, 0)), "{1, 0.099976, 5.9605e-08}"},
    {F16, {3}, 1, VALUES(BYTES(f16s, 6, 0, 0xfc, 0, 0x7e, 1, 0x7e)), "{-inf, nan, nan(0x201)}"},
    {BF16, {2}, 1, VALUES(BYTES(bf16s, 4, 0xcd, 0x3d, 0xc0, 0xff)), "{0.1001, -nan}"},
    {F32, {3}, 1, VALUES(LIST(f32s, float, 3, -0.F, 0.1F, 16777216)), "{-0, 0.1, 16777216}"},
    {F32, {2}, 1, VALUES(LIST(f32s, float, 2, 123456, 1234567)), "{123456, 1234567}"},
    {F64, {2}, 1, VALUES(LIST(f64s, double, 2, 0.1, 1.0 / 3)), "{0.1, 0.33333333333333331}"},
    {C64, {0}, 0, VALUES(LIST(c64s, float, 2, 1, -2.5F)), "(1, -2.5)"},
};

static Bytes make_constant(Bytes shape, RematHloText__Literal *literal) {
  InstText insts[] = {text_inst("p", "parameter", shape), text_inst("c", "constant", shape)};
  literal->shape = shape;
  insts[1].literal = message_write(&literal->base, arena);
  return text_module(insts, 2, arena);
}

START_TEST(prints_literals) {
  LiteralCase *given = &literal_cases[_i];
  TextBuffer text;
  Bytes shape = text_shape(given->type, given->dims, given->rank, arena);
  ck_assert_int_eq(print(make_constant(shape, &given->values), &text), RH_OK);
  const char *found = strstr(text_c_string(&text), " constant(");
  const char *want = arena_printf(arena, " constant(%s)\n", given->text);
  ck_assert_msg(strncmp(found, want, strlen(want)) == 0, "%.80s is not%s", found, want);
}
END_TEST

/* The memory of a literal has the order of its layout. */
START_TEST(prints_in_the_order_of_the_dimensions) {
  RematHloText__Layout layout = REMAT_HLO_TEXT__LAYOUT__INIT;
  RematHloText__Shape shape = REMAT_HLO_TEXT__SHAPE__INIT;
  RematHloText__Literal literal = VALUES(LIST(s32s, int32_t, 4, 1, 2, 3, 4));
  TextBuffer text;
  layout.n_minor_to_major = shape.n_dimensions = 2;
  layout.minor_to_major = (int64_t[]){0, 1};
  shape.dimensions = (int64_t[]){2, 2};
  shape.element_type = S32;
  shape.layout = &layout;
  ck_assert_int_eq(print(make_constant(message_write(&shape.base, arena), &literal), &text), RH_OK);
  ck_assert_ptr_nonnull(
      strstr(text_c_string(&text), "s32[2,2]{0,1} constant({ { 1, 3 }, { 2, 4 } })"));
}
END_TEST

START_TEST(refuses_literals) {
  int64_t few[] = {3}, empty[] = {UINT16_MAX, UINT16_MAX, 0};
  RematHloText__Literal literal = VALUES(LIST(s32s, int32_t, 2, 1, 2)), none = NO_VALUES;
  const char *what = "values that its shape does not have";
  expect_refused(make_constant(text_shape(S32, few, 1, arena), &literal), RH_CODE_NO_TEXT, what);
  expect_refused(make_constant(text_shape(F32, few, 1, arena), &literal), RH_CODE_NO_TEXT, what);
  expect_refused(make_constant(text_shape(S32, empty, 3, arena), &none), RH_CODE_NO_TEXT,
                 "far longer");
  expect_refused(make_constant(text_shape(21, few, 1, arena), &literal), RH_CODE_NO_TEXT,
                 "literal of type 21");
}
END_TEST

/* ---- what is refused ---- */

START_TEST(refuses_bytes_that_are_no_message) {
  Bytes data = text_proto(arena);
  TextBuffer none = {.arena = arena};
  ck_assert_int_eq(rh_print_proto(NULL, 10, text_take, &none, NULL), RH_ERR_INPUT);
  ck_assert_int_eq(rh_print_proto(NULL, 0, text_take, &none, diags), RH_ERR_INPUT);
  expect_refused((Bytes){0, NULL}, RH_CODE_NO_TEXT, "name");
  expect_refused(text_bytes("HloModule m"), RH_CODE_PROTO, "not an HloModuleProto");
  for (size_t len = 0; len < data.len; len++) { /* some cuts fall between two fields */
    TextBuffer text;
    ck_assert_int_eq(print((Bytes){len, data.data}, &text), RH_ERR_INPUT);
    ck_assert_uint_eq(text.chars.len, 0);
  }
}
END_TEST

/* An instruction with something that its opcode, or any, must not have. */
static void refuse_inst(InstText inst, const char *what) {
  InstText insts[] = {text_inst("p", "parameter", inst.shape), inst};
  expect_refused(text_module(insts, 2, arena), RH_CODE_NO_TEXT, what);
}

START_TEST(refuses_what_it_does_not_know) {
  Bytes shape = text_shape(F32, NULL, 0, arena);
  InstText inst = text_inst("a", "negate", shape), changed;
  inst.n_operand_ids = 1;
  inst.operand_ids = (int64_t[]){0};
  changed = inst;
  changed.opcode = text_bytes("new-opcode");
  refuse_inst(changed, "the opcode new-opcode");
  changed = inst;
  changed.name = text_bytes("a b");
  refuse_inst(changed, "name");
  changed.name = text_bytes("f32");
  refuse_inst(changed, "name");
  changed.name = text_bytes("__a");
  refuse_inst(changed, "name");
  changed = inst;
  changed.shape = text_shape(99, NULL, 0, arena);
  refuse_inst(changed, "type 99");
  changed = inst;
  changed.operand_ids = (int64_t[]){1};
  refuse_inst(changed, "not above");
  changed = inst;
  changed.n_called_computation_ids = 1;
  changed.called_computation_ids = (int64_t[]){5};
  refuse_inst(changed, "called");
  changed = inst;
  changed.backend_config = text_bytes("{\"a\": \"\xc3\xa4\"}");
  refuse_inst(changed, "dictionary");
  ProtobufCMessageUnknownField unknown = {
      .tag = 999, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = (uint8_t[]){1}};
  changed = inst;
  changed.base.n_unknown_fields = 1;
  changed.base.unknown_fields = &unknown;
  refuse_inst(changed, "field 999 of Instruction");
}
END_TEST

/* The end of an operation that a loop carries: XLA's parser would crash on its short form. */
START_TEST(prints_what_a_loop_carries_without_sugar) {
  int64_t dims[] = {4};
  Bytes array = text_shape(F32, dims, 1, arena), scalar = text_shape(S32, NULL, 0, arena);
  Bytes params = text_tuple(&array, 1, arena);
  Bytes state = text_tuple((Bytes[]){params, array, scalar}, 3, arena);
  InstText insts[] = {text_inst("p", "parameter", text_tuple(&state, 1, arena)),
                      text_inst("g", "get-tuple-element", state),
                      text_inst("d", "async-done", array)};
  int64_t operands[] = {0, 1};
  for (int i = 1; i < 3; i++) {
    insts[i].n_operand_ids = 1;
    insts[i].operand_ids = &operands[i - 1];
  }
  TextBuffer text;
  ck_assert_int_eq(print(text_module(insts, 3, arena), &text), RH_OK);
  ck_assert_ptr_nonnull(strstr(text_c_string(&text), "  ROOT %d = f32[4]{0} async-done(%g)\n"));
  insts[1].opcode = text_bytes("copy");
  expect_refused(text_module(insts, 3, arena), RH_CODE_NO_TEXT, "'d', an operation");
}
END_TEST

START_TEST(bounds_the_depth_of_tuples) {
  Bytes shape = text_shape(F32, NULL, 0, arena);
  for (int i = 0; i < 14; i++)
    shape = text_tuple(&shape, 1, arena);
  InstText inst = text_inst("p", "parameter", shape);
  TextBuffer text;
  ck_assert_int_eq(print(text_module(&inst, 1, arena), &text), RH_OK);
  for (int i = 0; i < 2000; i++)
    shape = text_tuple(&shape, 1, arena);
  inst.shape = shape;
  expect_refused(text_module(&inst, 1, arena), RH_CODE_NO_TEXT, "too deeply");
}
END_TEST

/* A name of 60,000 characters that is read 100,000 times. */
START_TEST(bounds_the_text) {
  enum { NAME_LEN = 60000, NUM_READS = 100000 };
  Bytes shape = text_shape(F32, NULL, 0, arena);
  char *name = arena_zalloc(arena, NAME_LEN + 1);
  memset(name, 'n', NAME_LEN);
  InstText insts[] = {text_inst(name, "parameter", shape), text_inst("t", "tuple", shape)};
  insts[1].n_operand_ids = NUM_READS;
  insts[1].operand_ids = arena_zarray(arena, int64_t, NUM_READS);
  expect_refused(text_module(insts, 2, arena), RH_CODE_NO_TEXT, "far longer");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("proto_print");
  TCase *tc = tcase_create("proto_print");
  tcase_add_checked_fixture(tc, set_up, tear_down);
  tcase_add_test(tc, prints_a_module);
  tcase_add_test(tc, parses);
  tcase_add_test(tc, prints_what_dumps_wrap);
  tcase_add_test(tc, prints_shardings_on_no_mesh);
  tcase_add_test(tc, reports_failed_writes);
  tcase_add_loop_test(tc, prints_literals, 0, sizeof literal_cases / sizeof *literal_cases);
  tcase_add_test(tc, prints_in_the_order_of_the_dimensions);
  tcase_add_test(tc, refuses_literals);
  tcase_add_test(tc, refuses_bytes_that_are_no_message);
  tcase_add_test(tc, refuses_what_it_does_not_know);
  tcase_add_test(tc, prints_what_a_loop_carries_without_sugar);
  tcase_add_test(tc, bounds_the_depth_of_tuples);
  tcase_add_test(tc, bounds_the_text);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
