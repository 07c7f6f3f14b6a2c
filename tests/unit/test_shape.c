#include "support.h"

#include <stdio.h>

static const struct {
  const char *text;
  int64_t bytes;
} size_cases[] = {
    {"f32[]", 4},
    {"bf16[8,128]{1,0}", 2048},
    {"f32[0,7]", 0},
    {"pred[3]", 3},
    {"s4[3]", 3},
    {"s4[3]{0:E(4)}", 2},
    {"f64[<=5]", 40},
    {"token[]", 0},
    {"opaque[]", 8},
    {"(f32[2], s32[])", 16},
    {"()", 0},
    {"c128[2]", 32},
    {"f32[4,4]{1,0:T(8,128)}", 64},
    {"f32[3037000500,3037000500]", -1}, /* the product does not fit in 64 bits */
    {"f32[0,9223372036854775807,9223372036854775807]", 0},
};

/* Not checked any further: sizes may overflow. */
static Fixture fixture_of_param(const char *shape) {
  Fixture fixture = {.out = arena_new(NULL), .scratch = arena_new(NULL)};
  const char *text =
      arena_printf(fixture.out, "HloModule m\nENTRY e { p = %s parameter(0) }\n", shape);
  fixture.module = parse_or_fail(text);
  return fixture;
}

START_TEST(bytes_match_table) {
  Fixture fixture = fixture_of_param(size_cases[_i].text);
  const Module *module = fixture.module;
  int64_t bytes = inst_shape(module, find_inst(module, "p"))->bytes;
  ck_assert_msg(bytes == size_cases[_i].bytes, "%s: %lld", size_cases[_i].text, (long long)bytes);
  fixture_free(&fixture);
}
END_TEST

static const char *const printed_cases[] = {
    "f32[]",
    "f32[8,128]{1,0}",
    "f32[8,128]{0,1:T(8,128)(2,1)}",
    "s4[3]{0:E(4)}",
    "f32[<=5,2]{1,0}",
    "f32[2]{0:S(5)}",
    "f32[4,4]{1,0:T(2,*)L(3)SC(1:2)M(16)}",
    "(f32[2]{0}, (s32[], pred[1]{0}), ())",
    "b(f32[2]{0})",
    "token[]",
    "(s8[], s8[], s8[], s8[], s8[], /*index=5*/s8[])",
};

START_TEST(memory_space_is_told_apart) {
  Fixture fixture = fixture_of_param("(f32[2]{0:T(4)}, (f32[3]{0:S(5)}, f32[]), f32[4]{0:S(1)})");
  const Shape *shape = inst_shape(fixture.module, find_inst(fixture.module, "p"));
  ck_assert_int_eq(shape->total_bytes, 3 * 8 + 8 + 2 * 8 + 12 + 4 + 16);
  ck_assert_int_eq(shape->device_bytes, shape->total_bytes - 12);
  ShapeTable *shapes = &fixture.module->shapes;
  ShapeId there = shape_in_memory_space(shapes, shape->elements[0], HOST_MEMORY_SPACE);
  Str text = shape_text(shapes, there, true, fixture.out);
  check_text(arena_strndup(fixture.out, text.data, text.len), "f32[2]{0:T(4)S(5)}", "there");
  ck_assert_uint_eq(shape_in_memory_space(shapes, there, 0), shape->elements[0]);
  fixture_free(&fixture);
}
END_TEST

START_TEST(text_is_what_was_read) {
  Fixture fixture = fixture_of_param(printed_cases[_i]);
  const Module *module = fixture.module;
  Str text = shape_text(&module->shapes, inst_get(module, find_inst(module, "p"))->shape, true,
                        fixture.out);
  ck_assert_msg(str_is(text, printed_cases[_i]), "%s: %.*s", printed_cases[_i], (int)text.len,
                text.data);
  fixture_free(&fixture);
}
END_TEST

START_TEST(parts_are_numbered_in_preorder) {
  Fixture fixture = fixture_of_param("(f32[2], (s32[], (), pred[3]), u8[])");
  const Module *module = fixture.module;
  const ShapeTable *shapes = &module->shapes;
  ShapeId id = inst_get(module, find_inst(module, "p"))->shape;
  ck_assert_uint_eq(shape_get(shapes, id)->num_parts, 7);
  ShapeId parts[7];
  shape_list_parts(shapes, id, parts);
  for (uint32_t i = 0; i < 7; i++)
    ck_assert_uint_eq(parts[i], shape_part(shapes, id, i));
  ck_assert_uint_eq(shape_get(shapes, parts[5])->type, TYPE_PRED);
  ck_assert_uint_eq(shape_index_part(shapes, id, (int64_t[]){1, 2}, 2), 5);
  ck_assert_uint_eq(shape_index_part(shapes, id, (int64_t[]){2}, 1), 6);
  ck_assert_uint_eq(shape_index_part(shapes, id, (int64_t[]){1, 3}, 2), NO_ID);
  fixture_free(&fixture);
}
END_TEST

START_TEST(compatible_ignores_layouts) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { a = (f32[2,3]{0,1}, s32[]) parameter(0)\n"
      " b = (f32[2,3]{1,0:T(2)}, s32[]) parameter(1)\n c = (f32[3,2], s32[]) parameter(2)\n"
      " d = (f32[?,3], s32[]) parameter(3) }");
  ShapeId a = inst_get(module, find_inst(module, "a"))->shape;
  ck_assert(shape_compatible(&module->shapes, a, inst_get(module, find_inst(module, "b"))->shape));
  ck_assert(!shape_compatible(&module->shapes, a, inst_get(module, find_inst(module, "c"))->shape));
  ck_assert(shape_compatible(&module->shapes, a, inst_get(module, find_inst(module, "d"))->shape));
  module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("shape");
  TCase *tc = tcase_create("shape");
  tcase_add_loop_test(tc, bytes_match_table, 0, sizeof size_cases / sizeof *size_cases);
  tcase_add_test(tc, memory_space_is_told_apart);
  tcase_add_loop_test(tc, text_is_what_was_read, 0, sizeof printed_cases / sizeof *printed_cases);
  tcase_add_test(tc, parts_are_numbered_in_preorder);
  tcase_add_test(tc, compatible_ignores_layouts);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
