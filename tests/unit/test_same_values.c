#include "remat/scan/same_values.h"

#include <stdio.h>

#include "support.h"

enum { TEXT_SIZE = 8192 };

/* A module whose loop over 6 iterations, with the counter i and the state x, y, has a body with
 * `body` in it that ends with the new state `next`. The text must live as long as the fixture. */

static Fixture parse_loop(char *text, const char *computations, const char *body,
                          const char *next) {
  snprintf(text, TEXT_SIZE,
           "HloModule m, is_scheduled=true\n%s"
           "body {\n s = (s32[], f32[4], f32[4]) parameter(0)\n"
           " i = s32[] get-tuple-element(s), index=0\n"
           " x = f32[4] get-tuple-element(s), index=1\n y = f32[4] get-tuple-element(s), index=2\n"
           " one = s32[] constant(1)\n n = s32[] add(i, one)\n%s"
           " ROOT t = (s32[], f32[4], f32[4]) tuple(n, %s)\n}\n"
           "condition {\n s = (s32[], f32[4], f32[4]) parameter(0)\n"
           " i = s32[] get-tuple-element(s), index=0\n six = s32[] constant(6)\n"
           " ROOT l = pred[] compare(i, six), direction=LT\n}\n"
           "ENTRY e {\n z = s32[] constant(0)\n u = f32[4] parameter(0)\n v = f32[4] parameter(1)\n"
           " t = (s32[], f32[4], f32[4]) tuple(z, u, v)\n"
           " w = (s32[], f32[4], f32[4]) while(t), condition=condition, body=body\n"
           " p = f32[4] get-tuple-element(w), index=1\n q = f32[4] get-tuple-element(w), index=2\n"
           " ROOT o = (f32[4], f32[4]) tuple(p, q)\n}\n",
           computations, body, next);
  return fixture_parse(text);
}

/* Merges what is the same in the body, and tells whether `g` has no users any more. */
static bool is_merged(Fixture *fixture, bool only_slices) {
  Rewrite rewrite = rewrite_begin(fixture->module);
  CallGraph graph = call_graph_build(fixture->module, fixture->out, fixture->scratch);
  Loops loops = loops_find(fixture->module, &graph, fixture->out, fixture->scratch);
  Schedule schedule = fixture_schedule(fixture, "input");
  ck_assert_uint_gt(loops.len, 0);
  InstId second = find_inst(fixture->module, "g");
  same_values_merge(&rewrite, &loops, &schedule, only_slices, fixture->scratch);
  check_prints_and_parses(fixture->module, &schedule);
  return inst_get(fixture->module, second)->users.len == 0;
}

/* Whether `second` is taken for the same value as `first`, both of them fusions in the body. */
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
  char text[TEXT_SIZE], computations[1024], body[1024];
  snprintf(computations, sizeof computations,
           "first {\n a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n %s\n}\n"
           "second {\n a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n %s\n}\n",
           rows[_i].first, rows[_i].second);
  snprintf(body, sizeof body,
           " f = f32[4] fusion(%s), kind=kLoop, calls=first\n"
           " g = f32[4] fusion(%s), kind=kLoop, calls=second\n h = f32[4] negate(g)\n",
           rows[_i].from, rows[_i].to);
  Fixture fixture = parse_loop(text, computations, body, "f, h");
  bool is_same = is_merged(&fixture, rows[_i].only_slices);
  ck_assert_msg(is_same == rows[_i].is_same, "%s", rows[_i].name);
  uint32_t num_users = inst_get(fixture.module, find_inst(fixture.module, "f"))->users.len;
  ck_assert_uint_eq(num_users, is_same ? 2 : 1);
  fixture_free(&fixture);
}
END_TEST

/* Whether f and g, which are the same zeros, may have one memory. */
static const struct {
  const char *name, *body, *next;
  bool is_merged;
} uses[] = {
    {"both are read", "h = f32[4] negate(f)\n k = f32[4] negate(g)\n", "h, k", true},
    {"one is handed on", "k = f32[4] negate(g)\n", "f, k", true},
    {"both are handed on", "", "f, g", false},
    {"both are handed on, one of them in another shape",
     "c = f32[2,2] bitcast(g)\n k = f32[4] bitcast(c)\n", "f, k", false},
    {"one is computed in place on",
     "h = f32[4] fusion(f, x, i), kind=kLoop, calls=written\n k = f32[4] negate(g)\n", "h, k",
     false},
    {"another loop changes both",
     "t2 = (s32[], f32[4], f32[4]) tuple(zero, f, g)\n"
     " w2 = (s32[], f32[4], f32[4]) while(t2), condition=inner_condition, body=changes\n"
     " h = f32[4] get-tuple-element(w2), index=1\n k = f32[4] get-tuple-element(w2), index=2\n",
     "h, k", false},
    {"another loop only reads both",
     "t2 = (s32[], f32[4], f32[4]) tuple(zero, f, g)\n"
     " w2 = (s32[], f32[4], f32[4]) while(t2), condition=inner_condition, body=reads\n"
     " h = f32[4] get-tuple-element(w2), index=1\n k = f32[4] get-tuple-element(w2), index=2\n",
     "x, y", true},
};

#define INNER_BODY(name, next)                                                                 \
  name " {\n s = (s32[], f32[4], f32[4]) parameter(0)\n"                                       \
       " i = s32[] get-tuple-element(s), index=0\n x = f32[4] get-tuple-element(s), index=1\n" \
       " y = f32[4] get-tuple-element(s), index=2\n one = s32[] constant(1)\n"                 \
       " n = s32[] add(i, one)\n" next "}\n"

START_TEST(what_is_overwritten_keeps_its_memory) {
  static const char *const computations =
      "zeros {\n z = f32[] constant(0)\n ROOT r = f32[4] broadcast(z), dimensions={}\n}\n"
      "written {\n a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n i = s32[] parameter(2)\n"
      " c = f32[1] slice(b), slice={[0:1]}\n"
      " ROOT r = f32[4] dynamic-update-slice(a, c, i)\n}\n" INNER_BODY(
          "changes", " p = f32[4] negate(x)\n q = f32[4] exponential(y)\n"
                     " ROOT t = (s32[], f32[4], f32[4]) tuple(n, p, q)\n")
          INNER_BODY("reads", " ROOT t = (s32[], f32[4], f32[4]) tuple(n, x, y)\n")
              "inner_condition {\n s = (s32[], f32[4], f32[4]) parameter(0)\n"
              " i = s32[] get-tuple-element(s), index=0\n six = s32[] constant(6)\n"
              " ROOT l = pred[] compare(i, six), direction=LT\n}\n";
  char text[TEXT_SIZE], body[1024];
  snprintf(body, sizeof body,
           " zero = s32[] constant(0)\n f = f32[4] fusion(), kind=kLoop, calls=zeros\n"
           " g = f32[4] fusion(), kind=kLoop, calls=zeros\n %s",
           uses[_i].body);
  Fixture fixture = parse_loop(text, computations, body, uses[_i].next);
  ck_assert_msg(is_merged(&fixture, false) == uses[_i].is_merged, "%s", uses[_i].name);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same_values");
  TCase *tc = tcase_create("same_values");
  tcase_add_loop_test(tc, same_values_are_found, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_loop_test(tc, what_is_overwritten_keeps_its_memory, 0,
                      (int)(sizeof uses / sizeof *uses));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
