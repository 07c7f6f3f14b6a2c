#include <stdio.h>
#include <stdlib.h>

#include "support.h"

static char *module_of(const char *shape) {
  static const char format[] = "HloModule m\nENTRY e {\n  ROOT p = %s parameter(0)\n}\n";
  size_t room = sizeof format + strlen(shape);
  char *text = malloc(room);
  snprintf(text, room, format, shape);
  return text;
}

static const struct {
  const char *written, *read; /* NULL: as it was written */
} accepted[] = {
    {"f32[]", NULL},
    {"f32[2]{0}", NULL},
    {"f32[2,3]{1,0}", NULL},
    {"f32[2,3]{0,1}", NULL},
    {"f32[2,3]", "f32[2,3]{1,0}"},
    {"f32[0,7]{1,0}", NULL},
    {"f32[007]", "f32[7]{0}"},
    {"f32 [ 2 , 3 ] { 0 , 1 }", "f32[2,3]{0,1}"},
    {"f32\n[2]\n{0}", "f32[2]{0}"},
    {"f32[2]/*a*/{0}", "f32[2]{0}"},
    {"f32/**/[/**/2/**/]", "f32[2]{0}"},
    {"f32[2] // c\n {0}", "f32[2]{0}"},

    /* dynamic dimensions */
    {"f32[<=5]{0}", NULL},
    {"f32[<= 5, ?]", "f32[<=5,?]{1,0}"},
    {"f32[?]{0}", NULL},
    {"f32[<=0]{0}", NULL},
    {"f32[<=9223372036854775808]{0}", "f32[?]{0}"}, /* 2^63 wraps to what stands for `?` */

    /* layouts; outside of tuples hardly anything is checked */
    {"f32[8,128]{1,0:T(8,128)}", NULL},
    {"f32[8,128]{1,0:T(8,128)(2,1)}", NULL},
    {"f32[8]{0:T(*)}", NULL},
    {"f32[4,4]{1,0:T(2,*)}", NULL},
    {"f32[4,4]{1,0:T(2,d)(d)}", NULL},
    {"f32[4]{0:T(-9223372036854775807)}", "f32[4]{0:T(d)}"},
    {"f32[4]{0:T(-9223372036854775808)}", "f32[4]{0:T(*)}"},
    {"(f32[4]{0:T(d)}, f32[4])", "(f32[4]{0:T(d)}, f32[4]{0})"},
    {"f32[2]{0:T()}", NULL},
    {"f32[2]{0:T(0)}", NULL},
    {"f32[]{:T(128)}", NULL},
    {"f32[]{:S(1)}", NULL},
    {"f32[2]{:S(1)}", "f32[2]{0:S(1)}"},
    {"f32[3,2]{:S(1)}", "f32[3,2]{1,0:S(1)}"},
    {"f32[2]{0:S(5)}", NULL},
    {"f32[2]{0:S(-3)}", NULL},
    {"f32[2]{0:S(0)}", "f32[2]{0}"},
    {"s4[2]{0:E(4)}", NULL},
    {"f32[2]{0:E(0)}", "f32[2]{0}"},
    {"f32[2]{0:L(3)}", NULL},
    {"f32[2]{0:L(1)}", "f32[2]{0}"},
    {"f32[2]{0:M(16)}", NULL},
    {"f32[2]{0:M(0)}", "f32[2]{0}"},
    {"f32[4,4]{1,0:SC(1:2)}", NULL},
    {"f32[4,4]{1,0:SC(0:1,2)(1:2)}", NULL},
    {"f32[4]{0:#(u32)}", NULL},
    {"f32[4]{0:*(u8)}", NULL},
    {"f32[4,4]{0,1:T(2,*)L(3)#(u32)*(u8)E(8)S(2)SC(1:2)M(16)}", NULL},
    {"f32[4,4]{1,0:D(D,C)}", "f32[4,4]{1,0}"}, /* read and forgotten */
    {"f32[4,4]{1,0:D(S+~,H)T(2,2)}", "f32[4,4]{1,0:T(2,2)}"},
    {"f32[2,2]{0,0}", NULL},
    {"f32[2,2]{5,7}", NULL},
    {"f32[9223372036854775807,9223372036854775807]{1,0}", NULL},

    /* tuples, buffers, tokens */
    {"()", NULL},
    {"( )", "()"},
    {"(())", NULL},
    {"(f32[])", NULL},
    {"(f32[2]{0}, (s32[], pred[1]{0}), ())", NULL},
    {"(f32[2] , s32[])", "(f32[2]{0}, s32[])"},
    {"(f32[8,128]{1,0:T(8,128)(2,1)}, f32[4,4]{1,0:L(3)SC(1:2)})", NULL},
    {"(s8[], s8[], s8[], s8[], s8[], /*index=5*/s8[])", NULL},
    {"(s8[], s8[], s8[], s8[], s8[], s8[])", "(s8[], s8[], s8[], s8[], s8[], /*index=5*/s8[])"},
    {"(f32[<=3]{0}, f32[?]{0})", NULL},
    {"(f32[0,9223372036854775807]{1,0})", NULL},
    {"b(f32[2]{0})", NULL},
    {"b ( f32[2] )", "b(f32[2]{0})"},
    {"b(f32[2]{0:S(5)})", NULL},
    {"(b(f32[2]{0}), f32[])", NULL},
    {"token[]", NULL},
    {"opaque[]", NULL},
    {"(token[], opaque[])", NULL},
};

START_TEST(accepted_shapes_are_read_as_meant) {
  char *text = module_of(accepted[_i].written);
  const char *wanted = accepted[_i].read ? accepted[_i].read : accepted[_i].written;
  check_accepted(text, strlen(text), 0);
  Module *module = parse_or_fail(text);
  Str read = shape_text(&module->shapes, inst_get(module, find_inst(module, "p"))->shape, true,
                        module->arena);
  ck_assert_msg(str_is(read, wanted), "%s: %.*s", accepted[_i].written, (int)read.len, read.data);
  module_free(module);
  free(text);
}
END_TEST

START_TEST(every_type_is_an_array) {
  for (int type = 0; type < TYPE_TOKEN; type++) {
    char shape[64];
    snprintf(shape, sizeof shape, "%s[3,2]{0,1}", type_info((ElementType)type)->text);
    char *text = module_of(shape);
    check_accepted(text, strlen(text), 0);
    Module *module = parse_or_fail(text);
    const Shape *read = inst_shape(module, find_inst(module, "p"));
    ck_assert_int_eq(read->type, type);
    ck_assert_uint_eq(read->rank, 2);
    ck_assert_int_eq(read->num_elements, 6);
    module_free(module);
    free(text);
  }
}
END_TEST

static const struct {
  const char *shape, *why;
} refused[] = {
    {"f32", "'[' after the element type"},
    {"f32[", "an integer"},
    {"f32[2", "']' to close"},
    {"f32[2,]", "a dimension after ','"},
    {"f32[,2]", "an integer"},
    {"f32[2 3]", "']' to close"},
    {"f32[x]", "an integer"},
    {"f32[-1]", "negative"},
    {"f32[<=-1]", "negative"},
    {"f32[<=]", "an integer"},
    {"f32[<=?]", "an integer"},
    {"f32[?,?,]", "a dimension after ','"},
    {"f32[1.5]", "an integer"},
    {"f32[9223372036854775808]", "negative"},
    {"f32[18446744073709551616]", "64 bits"},
    {"F32[2]", "unknown element type 'F32'"},
    {"f33[2]", "unknown element type 'f33'"},
    {"f32[2]{}", "an opcode"}, /* no layout: a body */
    {"f32[2,3]{0}", "2 dimensions but its layout orders 1"},
    {"f32[2]{0,1}", "1 dimension but its layout orders 2"},
    {"f32[]{0}", "0 dimensions but its layout orders 1"},
    {"f32[2]{:T(8)}", "1 dimension but its layout orders 0"},
    {"f32[2]{:S(0)}", "1 dimension but its layout orders 0"},
    {"f32[2]{0,}", "a dimension number after ','"},
    {"f32[2]{0", "'}' to close the layout"},
    {"f32[2]{0:S(1)T(2)}", "'}' to close the layout"},
    {"f32[2]{0:M(1)S(1)}", "'}' to close the layout"},
    {"f32[2]{0:S(1)E(4)}", "'}' to close the layout"},
    {"f32[2]{0:T(2)D(D)}", "'}' to close the layout"},
    {"f32[2]{0:Q(1)}", "'}' to close the layout"},
    {"f32[2]{0:D(X)}", "dimension level type"},
    {"f32[2]{0:S()}", "an integer"},
    {"f32[2]{0:S(x)}", "an integer"},
    {"f32[2]{0:T(x)}", "an integer"},
    {"f32[2]{0:T(2,D)}", "an integer"},
    {"f32[2]{0:T(-8)}", "tile dimension -8 is negative"},
    {"f32[2]{0:L(0)}", "L(0)"},
    {"f32[2]{0:L(-1)}", "L(-1) is not a tail padding"},
    {"f32[2]{0:P(f32[2])}", "sparse"},
    {"f32[2]{0:SC(0)}", "':'"},
    {"f32[2]{0:SC(x:1)}", "an integer"},
    {"f32[4,4]{1,0:SC(1:2,)}", "an integer"},
    {"f32[8,128]{1,0:T(8,)}", "an integer"},
    {"f32[2]{0:E(x)}", "an integer"},

    {"(f32[2]", "')' to close the tuple shape"},
    {"(f32[2],)", "a shape"},
    {"(,f32[2])", "a shape"},
    {"(f32[2] s32[])", "')' to close the tuple shape"},
    {"(f32[2]))", "an opcode"},
    {"(f32)", "'['"},
    {"(f32[2,2]{0,0})", "not a permutation"},
    {"(f32[2]{5})", "not a permutation"},
    {"(b(f32[2]{5}))", "not a permutation"},
    {"(b(f32[9223372036854775807]))", "overflows"},
    {"(f32[2]{0:T(0)})", "tile dimension is not positive"},
    {"(f32[2]{0:T()})", "empty tile"},
    {"(f32[2]{0:L(-1)})", "tail padding"},
    {"f32[2]{0:L(3)SC(0:1)S(2)}", "'}' to close the layout"},
    {"(f32[2]{0:#(u32)})", "sparse"},
    {"(f32[2]{0:*(u32)})", "sparse"},
    {"(f32[2]{0:E(-1)})", "element size"},
    {"(f32[2]{0:SC(1:1)})", "split points"},
    {"(f32[2]{0:SC(0:0)})", "split points"},
    {"(f32[2]{0:SC(0:2)})", "split points"},
    {"(f32[4]{0:SC(0:2,1)})", "split points"},
    {"(f32[4]{0:SC(0:1)(0:2)})", "split points"},
    {"(f32[4294967296,4294967296])", "overflows 64 bits"},
    {"(f64[1152921504606846976])", "overflows 64 bits"},
    {"((f32[2]{5}))", "not a permutation"},

    {"token[2]", "no dimensions"},
    {"opaque[2]", "no dimensions"},
    {"(token[2])", "no dimensions"},
    {"tuple[]", "'('"},
    {"b()", "a shape"},
    {"b(f32[2]", "')' to close the buffer shape"},
    {"b((f32[2]))", "array shape only"},
    {"b(token[])", "array shape only"},
    {"b(b(f32[2]))", "array shape only"},
};

START_TEST(refused_shapes_say_why) {
  char *text = module_of(refused[_i].shape);
  check_refused(text, strlen(text), refused[_i].why);
  free(text);
}
END_TEST

/* XLA only notes failures inside a layout's suffixes; when the '}' is then there all the same, the
 * text is accepted. */
static const char *const overlooked[] = {
    "f32[2]{0:#(s32)}", "f32[2]{0:*(f32)}", "f32[2]{0:#(s32)*(s32)}",
    "f32[2]{0:S}",      "f32[2]{0:T(2}",    "f32[2]{0:S(1}",
    "f32[2]{0:#}",      "f32[2]{0:SC}",     "f32[2]{0:L}",
    "f32[2]{0:D}",
};

START_TEST(overlooked_suffixes_are_warned_about) {
  char *text = module_of(overlooked[_i]);
  check_accepted(text, strlen(text), 1);
  free(text);
}
END_TEST

/* Every text of a shape is found again by its text, without being mixed up with others. */
START_TEST(equal_shapes_have_equal_ids) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e (x: f32[2]) -> f32[2] {\n"
      " a = f32[2] parameter(0)\n b = f32[2]{0} parameter(1)\n c = f32[2] {0} parameter(2)\n"
      " d = f32[2]/**/{0} parameter(3)\n e = f32[2]{0:S(1)} parameter(4)\n"
      " f = f32[2] parameter(5)\n g = f32[2]{0:S(0)} parameter(6)\n h = f32[2,2] parameter(7)\n"
      " i = f32[2,2]{0,1} parameter(8)\n j = f32[2,2]{1,0} parameter(9)\n"
      " k = f32[<=2] parameter(10)\n l = s32[2] parameter(11)\n m = b(f32[2]) parameter(12)\n"
      " n = f32[2]\n {0} parameter(13)\n ROOT r = f32[2] copy(a)\n}\n");
  static const char *const same[] = {"a", "b", "c", "d", "f", "g", "n", "r"};
  static const char *const other[] = {"e", "h", "i", "k", "l", "m"};
  ShapeId id = inst_get(module, find_inst(module, "a"))->shape;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    ck_assert_msg(inst_get(module, find_inst(module, same[i]))->shape == id, "%s", same[i]);
  }
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    ck_assert_msg(inst_get(module, find_inst(module, other[i]))->shape != id, "%s", other[i]);
  }
  ck_assert_uint_eq(inst_get(module, find_inst(module, "h"))->shape,
                    inst_get(module, find_inst(module, "j"))->shape);
  module_free(module);
}
END_TEST

START_TEST(layouts_are_kept_in_full) {
  char *text = module_of("f32[4,6]{0,1:T(2,*)(8)L(3)#(u32)*(u8)E(8)S(2)SC(1:2,4)(0:3)M(16)}");
  Module *module = parse_or_fail(text);
  const Shape *shape = inst_shape(module, find_inst(module, "p"));
  const LayoutExtras *extras = shape->extras;
  ck_assert_ptr_nonnull(extras);
  ck_assert_int_eq(shape->minor_to_major[0], 0);
  ck_assert_int_eq(extras->tail_padding, 3);
  ck_assert_int_eq(extras->element_bits, 8);
  ck_assert_int_eq(extras->memory_space, 2);
  ck_assert_int_eq(extras->metadata_prefix, 16);
  ck_assert_int_eq(extras->index_type, TYPE_U32 + 1);
  ck_assert_int_eq(extras->pointer_type, TYPE_U8 + 1);
  ck_assert_uint_eq(extras->num_tile_words, 5);
  static const int64_t tiles[] = {2, 2, COMBINED_TILE_DIM, 1, 8};
  ck_assert_mem_eq(extras->tile_words, tiles, sizeof tiles);
  ck_assert_uint_eq(extras->num_split_words, 7);
  static const int64_t splits[] = {1, 2, 2, 4, 0, 1, 3};
  ck_assert_mem_eq(extras->split_words, splits, sizeof splits);
  module_free(module);
  free(text);
}
END_TEST

START_TEST(braces_behind_a_shape_open_a_layout_or_a_body) {
  static const char *const texts[] = {
      "HloModule m\nENTRY e () -> f32[2] {\n  ROOT p = f32[2] parameter(0) }",
      "HloModule m\nENTRY e () -> f32[2]{\n  ROOT p = f32[2]{0}parameter(0)}",
      "HloModule m\nENTRY e () -> f32[2]{0}{ROOT p = f32[2] parameter(0)}",
      "HloModule m\nENTRY e () -> f32[2] {0} {ROOT p = f32[2] parameter(0)}",
      "HloModule m\nENTRY e () -> f32[2]{/*{0}*/ROOT p = f32[2] parameter(0)}",
      "HloModule m\nENTRY e () -> () { ROOT p = () tuple() }",
  };
  check_accepted(texts[_i], strlen(texts[_i]), 0);
}
END_TEST

/* Tuples in tuples count towards MAX_NESTING, which nobody reaches but on purpose. */
START_TEST(deep_tuples_are_refused) {
  static const struct {
    int depth;
    bool is_accepted;
  } cases[] = {{100, true}, {390, true}, {401, false}, {100000, false}};
  int depth = cases[_i].depth;
  char *shape = malloc((size_t)depth * 2 + 8);
  memset(shape, '(', (size_t)depth);
  memset(shape + depth, ')', (size_t)depth);
  shape[2 * depth] = '\0';
  char *text = module_of(shape);
  if (cases[_i].is_accepted) {
    check_accepted(text, strlen(text), 0);
  } else {
    check_refused(text, strlen(text), "nested more than 400 deep");
  }
  free(text);
  free(shape);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_shape");
  TCase *tc = tcase_create("parse_shape");
  tcase_add_loop_test(tc, accepted_shapes_are_read_as_meant, 0, sizeof accepted / sizeof *accepted);
  tcase_add_test(tc, every_type_is_an_array);
  tcase_add_loop_test(tc, refused_shapes_say_why, 0, sizeof refused / sizeof *refused);
  tcase_add_loop_test(tc, overlooked_suffixes_are_warned_about, 0,
                      sizeof overlooked / sizeof *overlooked);
  tcase_add_test(tc, equal_shapes_have_equal_ids);
  tcase_add_test(tc, layouts_are_kept_in_full);
  tcase_add_loop_test(tc, braces_behind_a_shape_open_a_layout_or_a_body, 0, 6);
  tcase_add_loop_test(tc, deep_tuples_are_refused, 0, 4);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
