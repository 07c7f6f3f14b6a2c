#include "remat/scan/same_values.h"

#include <stdio.h>
#include <stdlib.h>

#include "support.h"

/* Whether `second` is taken for the same value as `first`, both of them fusions in the body of a
 * loop over 6 iterations whose counter is i. */
static const struct {
  const char *name, *first, *second;
  const char *from, *to; /* the operands of the two fusions */
  bool only_slices, is_same;
} rows[] = {
    {"the same expression", "ROOT r = f32[4] multiply(a, b)", "ROOT r = f32[4] multiply(a, b)",
     "x, y", "x, y", false, true},
    {"only slices are wanted", "ROOT r = f32[4] multiply(a, b)", "ROOT r = f32[4] multiply(a, b)",
     "x, y", "x, y", true, false},
    {"operands exchanged", "ROOT r = f32[4] subtract(a, b)", "ROOT r = f32[4] subtract(a, b)",
     "x, y", "y, x", false, false},
    {"parameters exchanged, too", "ROOT r = f32[4] subtract(a, b)",
     "ROOT r = f32[4] subtract(b, a)", "x, y", "y, x", false, true},
    {"another constant",
     "c = f32[] constant(1)\n d = f32[4] broadcast(c), dimensions={}\n"
     " ROOT r = f32[4] add(a, d)",
     "c = f32[] constant(2)\n d = f32[4] broadcast(c), dimensions={}\n ROOT r = f32[4] add(a, d)",
     "x, y", "x, y", false, false},
    {"another direction",
     "p = pred[4] compare(a, b), direction=LT\n ROOT r = f32[4] select(p, a, b)",
     "p = pred[4] compare(a, b), direction=GT\n ROOT r = f32[4] select(p, a, b)", "x, y", "x, y",
     false, false},
};

START_TEST(same_values_are_found) {
  char *text = malloc(8192);
  ck_assert_ptr_nonnull(text);
  snprintf(text, 8192,
           "HloModule m, is_scheduled=true\n"
           "first {\n a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n %s\n}\n"
           "second {\n a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n %s\n}\n"
           "body {\n s = (s32[], f32[4], f32[4]) parameter(0)\n"
           " i = s32[] get-tuple-element(s), index=0\n"
           " x = f32[4] get-tuple-element(s), index=1\n y = f32[4] get-tuple-element(s), index=2\n"
           " one = s32[] constant(1)\n n = s32[] add(i, one)\n"
           " f = f32[4] fusion(%s), kind=kLoop, calls=first\n"
           " g = f32[4] fusion(%s), kind=kLoop, calls=second\n"
           " ROOT t = (s32[], f32[4], f32[4]) tuple(n, f, g)\n}\n"
           "condition {\n s = (s32[], f32[4], f32[4]) parameter(0)\n"
           " i = s32[] get-tuple-element(s), index=0\n six = s32[] constant(6)\n"
           " ROOT l = pred[] compare(i, six), direction=LT\n}\n"
           "ENTRY e {\n z = s32[] constant(0)\n u = f32[4] parameter(0)\n v = f32[4] parameter(1)\n"
           " t = (s32[], f32[4], f32[4]) tuple(z, u, v)\n"
           " w = (s32[], f32[4], f32[4]) while(t), condition=condition, body=body\n"
           " p = f32[4] get-tuple-element(w), index=1\n q = f32[4] get-tuple-element(w), index=2\n"
           " ROOT o = (f32[4], f32[4]) tuple(p, q)\n}\n",
           rows[_i].first, rows[_i].second, rows[_i].from, rows[_i].to);
  Fixture fixture = fixture_parse(text);
  InstId first = find_inst(fixture.module, "f"), second = find_inst(fixture.module, "g");
  Rewrite rewrite = rewrite_begin(fixture.module);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  Loops loops = loops_find(fixture.module, &graph, fixture.out, fixture.scratch);
  Schedule schedule = fixture_schedule(&fixture, "input");
  ck_assert_uint_eq(loops.len, 1);
  same_values_merge(&rewrite, &loops, &schedule, rows[_i].only_slices, fixture.scratch);
  bool is_same = inst_get(fixture.module, second)->users.len == 0;
  ck_assert_msg(is_same == rows[_i].is_same, "%s", rows[_i].name);
  ck_assert_uint_eq(inst_get(fixture.module, first)->users.len, 1);
  check_prints_and_parses(fixture.module, &schedule);
  fixture_free(&fixture);
  free(text);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same_values");
  TCase *tc = tcase_create("same_values");
  tcase_add_loop_test(tc, same_values_are_found, 0, (int)(sizeof rows / sizeof *rows));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
