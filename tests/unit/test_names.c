#include "ir/names.h"

#include <stdio.h>

#include "support.h"

static Str text(const char *string) {
  return str_make(string, strlen(string));
}

/* A set that holds the names of a module's instructions: a, b, x, x.1, x.3, x.remat. */
static NameSet small_set(Module **module, Arena *arena) {
  *module = parse_or_fail(
      "HloModule m\nx.7 { ROOT b = f32[] parameter(0) }\n"
      "ENTRY e { a = f32[] parameter(0)\n x = f32[] negate(a)\n x.1 = f32[] negate(a)\n"
      " x.3 = f32[] negate(a)\n x.remat = f32[] negate(a)\n"
      " ROOT c = f32[] call(x), to_apply=x.7 }");
  return names_of_insts(*module, arena);
}

static const struct {
  const char *wanted, *given;
} unique_cases[] = {
    {"free", "free"},         {"free.5", "free.5"}, {"x", "x.2"}, {"x.1", "x.2"}, {"x.3", "x.2"},
    {"x.2", "x.2"},           {"a", "a.1"},         {"b", "b.1"}, /* of another computation: names
                                                                     are unique in all */
    {"x.7", "x.7"}, /* a computation's name is no instruction's */
    {"x.remat", "x.remat.1"}, {"e", "e"},
};

START_TEST(unique_names_match_table) {
  Arena *arena = arena_new(NULL);
  Module *module;
  NameSet names = small_set(&module, arena);
  Str name = name_unique(&names, text(unique_cases[_i].wanted));
  ck_assert_msg(str_is(name, unique_cases[_i].given), "%s: %s", unique_cases[_i].wanted, name.data);
  ck_assert_int_eq(name.data[name.len], '\0');
  Str again = name_unique(&names, text(unique_cases[_i].given));
  ck_assert_msg(!str_equal(again, name), "%s is given twice", name.data);
  module_free(module);
  arena_free(arena);
}
END_TEST

START_TEST(a_thousand_of_one_name_are_numbered_in_turn) {
  Arena *arena = arena_new(NULL);
  NameSet names = {.arena = arena};
  char wanted[32] = "y.remat";
  ck_assert(str_is(name_unique(&names, text("y.remat")), wanted));
  for (int i = 1; i <= 1000; i++) {
    snprintf(wanted, sizeof wanted, "y.remat.%d", i);
    Str name = name_unique(&names, text(i % 2 ? "y.remat" : "y.remat.1"));
    ck_assert_msg(str_is(name, wanted), "%s, not %s", name.data, wanted);
  }
  arena_free(arena);
}
END_TEST

/* The set keeps a name of its own: the caller's may go. */
START_TEST(names_are_copied) {
  Arena *arena = arena_new(NULL);
  NameSet names = {.arena = arena};
  char wanted[] = "name";
  Str name = name_unique(&names, text(wanted));
  wanted[0] = 'X';
  ck_assert(str_is(name, "name"));
  ck_assert(str_is(name_unique(&names, text("name")), "name.1"));
  arena_free(arena);
}
END_TEST

START_TEST(dead_instructions_and_computations_free_their_names) {
  Arena *arena = arena_new(NULL);
  Module *module = parse_or_fail(
      "HloModule m\nunused { ROOT p = f32[] parameter(0) }\n"
      "ENTRY e { a = f32[] parameter(0)\n ROOT b = f32[] negate(a)\n c = f32[] negate(a) }");
  module_remove_inst(module, find_inst(module, "c"));
  comp_get(module, find_comp(module, "unused"))->flags |= COMP_DEAD;
  NameSet insts = names_of_insts(module, arena), comps = names_of_comps(module, arena);
  ck_assert(str_is(name_unique(&insts, text("c")), "c"));
  ck_assert(str_is(name_unique(&insts, text("b")), "b.1"));
  ck_assert(str_is(name_unique(&comps, text("unused")), "unused"));
  ck_assert(str_is(name_unique(&comps, text("e")), "e.1"));
  ck_assert(str_is(name_unique(&comps, text("b")), "b"));
  module_free(module);
  arena_free(arena);
}
END_TEST

/* Numbers that are none: no digits, too many, no stem. */
static const char *const odd_names[] = {
    ".5", "x.", "x.1a", "x.1234567890123456789", "1.2.3.", "_", ".", "x..", "-.-",
};

START_TEST(odd_names_become_unique) {
  Arena *arena = arena_new(NULL);
  NameSet names = {.arena = arena};
  Str first = name_unique(&names, text(odd_names[_i]));
  ck_assert_msg(str_is(first, odd_names[_i]), "%s: %s", odd_names[_i], first.data);
  Str second = name_unique(&names, text(odd_names[_i]));
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%s.1", odd_names[_i]);
  ck_assert_msg(str_is(second, wanted), "%s: %s", odd_names[_i], second.data);
  arena_free(arena);
}
END_TEST

/* HloInstruction::AddSuffixToInstructionName. */
static const struct {
  const char *name, *with_remat;
} suffix_cases[] = {
    {"x", "x.remat"},
    {"x.1", "x.1.remat"},
    {"x.remat", "x.remat2"},
    {"x.remat2", "x.remat3"},
    {"x.remat9", "x.remat10"},
    {"x.remat0", "x.remat1"},
    {"x.remat.1", "x.remat.1.remat"},
    {"x.remat2.remat", "x.remat2.remat2"},
    {"x.rematerialized", "x.rematerialized.remat"},
    {"remat", "remat.remat"},
    {".remat", ".remat2"},
    {"x.remat7b", "x.remat7b.remat"},
    {"x.remat999999999999999999", "x.remat1000000000000000000"},
    {"x.remat1234567890123456789", "x.remat1234567890123456789.remat"},
    {"", ".remat"},
};

START_TEST(suffixes_match_table) {
  Arena *arena = arena_new(NULL);
  Str name = name_with_suffix(text(suffix_cases[_i].name), "remat", arena);
  ck_assert_msg(str_is(name, suffix_cases[_i].with_remat), "%s: %s", suffix_cases[_i].name,
                name.data);
  arena_free(arena);
}
END_TEST

START_TEST(a_long_name_is_no_trouble) {
  enum { LEN = 1 << 20 };
  Arena *arena = arena_new(NULL);
  char *wanted = arena_alloc(arena, LEN);
  memset(wanted, 'n', LEN);
  NameSet names = {.arena = arena};
  ck_assert_uint_eq(name_unique(&names, (Str){wanted, LEN}).len, LEN);
  Str second = name_unique(&names, (Str){wanted, LEN});
  ck_assert_uint_eq(second.len, LEN + 2);
  ck_assert_str_eq(second.data + LEN, ".1");
  Str suffixed = name_with_suffix((Str){wanted, LEN}, "remat", arena);
  ck_assert_uint_eq(suffixed.len, LEN + 6);
  ck_assert_str_eq(suffixed.data + LEN, ".remat");
  arena_free(arena);
}
END_TEST

/* Each list is saved before or after the names were read. */
START_TEST(a_restored_set_gives_the_same_names_again) {
  Arena *arena = arena_new(NULL);
  Module *module;
  NameSet names = small_set(&module, arena);
  if (_i == 1) ck_assert(!name_is_ambiguous(&names, STR("a")));
  NameList saved = names_save(&names, arena);
  for (int round = 0; round < 3; round++) {
    ck_assert(str_is(name_unique(&names, STR("x")), "x.2"));
    ck_assert(str_is(name_unique(&names, STR("x")), "x.4"));
    ck_assert(str_is(name_unique(&names, STR("free")), "free"));
    names_restore(&names, &saved);
  }
  module_free(module);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("names");
  TCase *tc = tcase_create("names");
  tcase_add_loop_test(tc, unique_names_match_table, 0, sizeof unique_cases / sizeof *unique_cases);
  tcase_add_test(tc, a_thousand_of_one_name_are_numbered_in_turn);
  tcase_add_test(tc, names_are_copied);
  tcase_add_test(tc, dead_instructions_and_computations_free_their_names);
  tcase_add_loop_test(tc, odd_names_become_unique, 0, sizeof odd_names / sizeof *odd_names);
  tcase_add_loop_test(tc, suffixes_match_table, 0, sizeof suffix_cases / sizeof *suffix_cases);
  tcase_add_test(tc, a_long_name_is_no_trouble);
  tcase_add_loop_test(tc, a_restored_set_gives_the_same_names_again, 0, 2);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
