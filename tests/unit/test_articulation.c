#include "remat/algorithms/articulation.h"

#include <stdio.h>

#include "support.h"

#define P "p = f32[4] parameter(0)\n"
#define OP(name, of) name " = f32[4] abs(" of ")\n"
#define ADD(name, a, b) name " = f32[4] add(" a ", " b ")\n"

static const struct {
  const char *name, *body;
  uint32_t len; /* length of the beginning to search; 0 = the whole sequence */
  int64_t min_bytes;
  const char *points;
} rows[] = {
    {"the inner ones of a chain", P OP("a", "p") OP("b", "a") OP("c", "b") "ROOT " OP("d", "c"), 0,
     0, "b c"},
    {"where a diamond ends",
     P OP("a", "p") OP("b", "a") OP("c", "a") ADD("d", "b", "c") "ROOT " OP("e", "d"), 0, 0, "d"},
    {"between two diamonds",
     P OP("a", "p") OP("b", "a") OP("c", "a") ADD("d", "b", "c") OP("e", "d")
         OP("f", "d") "ROOT " ADD("g", "e", "f"),
     0, 0, "d"},
    /* The edge from a to e leads around d. */
    {"around it",
     P OP("a", "p") OP("b", "a") OP("c", "a") ADD("d", "b", "c") "ROOT " ADD("e", "d", "a"), 0, 0,
     ""},
    {"only the beginning",
     P OP("a", "p") OP("b", "a") OP("c", "b") OP("d", "c") "ROOT " ADD("e", "d", "a"), 4, 0, "b"},
    {"all of it", P OP("a", "p") OP("b", "a") OP("c", "b") OP("d", "c") "ROOT " ADD("e", "d", "a"),
     0, 0, ""},
    /* The center of a star, at which the search begins. */
    {"the first of all", P OP("a", "p") OP("b", "a") "ROOT " OP("c", "a"), 0, 0, "a"},
    {"parameters join nothing", P OP("a", "p") OP("b", "p") "ROOT " ADD("c", "a", "p"), 0, 0, ""},
    {"two parts",
     P OP("a", "p") OP("b", "a") OP("c", "b") OP("x", "p") OP("y", "x") "ROOT " OP("z", "y"), 0, 0,
     "b y"},
    /* If its 4 bytes counted, s would lead around b and c. */
    {"a small value ties nothing together",
     P OP("a", "p") "s = f32[] custom-call(a), custom_call_target=\"t\"\n" OP("b", "a")
         OP("c", "b") "ROOT d = f32[4] custom-call(c, s), custom_call_target=\"t\"\n",
     0, 4, "a b c"},
    {"unless it counts as well",
     P OP("a", "p") "s = f32[] custom-call(a), custom_call_target=\"t\"\n" OP("b", "a")
         OP("c", "b") "ROOT d = f32[4] custom-call(c, s), custom_call_target=\"t\"\n",
     0, 3, ""},
};

START_TEST(points_match_table) {
  Fixture fixture = fixture_parse_body("", rows[_i].body);
  const Module *module = fixture.module;
  Schedule schedule = schedule_in_text_order(module, fixture.out);
  Sequence sequence = schedule.of[module->entry];
  SchedPos *positions = arena_array(fixture.out, SchedPos, module->insts.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    positions[sequence.ids[pos]] = pos;
  bool *is_point = arena_zarray(fixture.out, bool, module->insts.len);
  mark_articulation_points(module, sequence, rows[_i].len ? rows[_i].len : sequence.len, positions,
                           rows[_i].min_bytes, is_point, fixture.scratch);
  const char *names = "";
  for (InstId id = 0; id < module->insts.len; id++) {
    Str name = inst_name(module, id);
    if (is_point[id]) text_add(fixture.out, &names, "%.*s", (int)name.len, name.data);
  }
  check_text(names, rows[_i].points, rows[_i].name);
  fixture_free(&fixture);
}
END_TEST

/* O(n): a chain of a hundred thousand, without recursion. */
START_TEST(long_chains_are_no_problem) {
  enum { LENGTH = 100000 };
  Arena *arena = arena_new(NULL);
  char *text = arena_alloc(arena, LENGTH * 40 + 100);
  char *end = text + sprintf(text, "ENTRY e { x0 = f32[4] parameter(0)\n");
  for (int i = 1; i <= LENGTH; i++)
    end += sprintf(end, "x%d = f32[4] abs(x%d)\n", i, i - 1);
  strcpy(end, "}");
  Fixture fixture = fixture_parse(text);
  Sequence sequence = {fixture.module->ids.data + comp_get(fixture.module, 0)->insts.begin,
                       comp_num_insts(fixture.module, 0)};
  SchedPos *positions = arena_array(arena, SchedPos, sequence.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    positions[sequence.ids[pos]] = pos;
  bool *is_point = arena_zarray(arena, bool, sequence.len);
  mark_articulation_points(fixture.module, sequence, sequence.len, positions, 0, is_point,
                           fixture.scratch);
  uint32_t count = 0;
  for (uint32_t i = 0; i < sequence.len; i++)
    count += is_point[i];
  ck_assert_uint_eq(count, LENGTH - 2);
  fixture_free(&fixture);
  arena_free(arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("articulation");
  TCase *tc = tcase_create("articulation");
  tcase_add_loop_test(tc, points_match_table, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, long_chains_are_no_problem);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
