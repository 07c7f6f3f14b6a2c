#include "remat/scan/carry.h"

#include <stdio.h>
#include <stdlib.h>

#include "loop_texts.h"
#include "support.h"

/* What is left of the loops' states after unread elements have gone. */
static const struct {
  const char *name;
  LoopEdit edits[MAX_LOOP_EDITS];
  uint32_t first, second; /* elements of the loops' states; 0 = the loop is gone */
} rows[] = {
    {"everything is read", {{0}}, 4, 5},
    {"a stack that is only written and handed on",
     {{" y = f32[4] reshape(ss)\n", " y = f32[4] sine(wj)\n"}},
     3,
     4},
    {"the first loop is not needed",
     {{" y = f32[4] reshape(ss)\n", " y = f32[4] sine(wj)\n"},
      {"tuple(zero, x, s, w, a0)", "tuple(zero, x0, s, w, a0)"},
      {"tuple(x, dx, acc)", "tuple(x0, dx, acc)"}},
     0,
     4},
    {"gradients that nobody returns",
     {{" ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc)",
       " ROOT r = (f32[4], f32[4]) tuple(x, dx)"}},
     4,
     4},
    {"only the first loop's result",
     {{" ROOT r = (f32[4], f32[4], f32[6,4]) tuple(x, dx, acc)", " ROOT r = (f32[4]) tuple(x)"}},
     3,
     0},
};

static uint32_t size_of(const Module *module, InstId id) {
  return inst_get(module, id)->flags & INST_DEAD ? 0 : inst_shape(module, id)->rank;
}

START_TEST(unread_elements_go) {
  char *text = loop_text_edited(rows[_i].name, loop_scan, rows[_i].edits);
  Fixture fixture = fixture_parse(text);
  InstId first = find_inst(fixture.module, "f"), second = find_inst(fixture.module, "b");
  Rewrite rewrite = rewrite_begin(fixture.module);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  Loops loops = loops_find(fixture.module, &graph, fixture.out, fixture.scratch);
  ck_assert_uint_eq(loops.len, 2);
  carry_drop_unread(&rewrite, &loops, fixture.scratch);
  ck_assert_msg(size_of(fixture.module, first) == rows[_i].first, "%s: %u elements", rows[_i].name,
                size_of(fixture.module, first));
  ck_assert_msg(size_of(fixture.module, second) == rows[_i].second, "%s: %u elements",
                rows[_i].name, size_of(fixture.module, second));
  Schedule schedule = fixture_schedule(&fixture, "input");
  check_prints_and_parses(fixture.module, &schedule);
  fixture_free(&fixture);
  free(text);
}
END_TEST

/* A fusion of the body stacks what it computes, and computes the next state. Nothing reads the
 * stack. */
static const char bundle[] =
    "HloModule m, is_scheduled=true\n"
    "both {\n p = f32[6,4] parameter(0)\n i = s32[] parameter(1)\n x = f32[4] parameter(2)\n"
    " o = s32[] constant(0)\n %s\n z = f32[1,4] reshape(y)\n"
    " d = f32[6,4] dynamic-update-slice(p, z, i, o)\n ROOT t = (f32[6,4], f32[4]) tuple(d, n)\n}\n"
    "body {\n s = (s32[], f32[6,4], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), "
    "index=0\n"
    " p = f32[6,4] get-tuple-element(s), index=1\n x = f32[4] get-tuple-element(s), index=2\n"
    " f = (f32[6,4], f32[4]) fusion(p, i, x), kind=kLoop, calls=both\n"
    " q = f32[6,4] get-tuple-element(f), index=0\n n = f32[4] get-tuple-element(f), index=1\n"
    " one = s32[] constant(1)\n j = s32[] add(i, one)\n"
    " ROOT t = (s32[], f32[6,4], f32[4]) tuple(j, q, n)\n}\n"
    "until {\n s = (s32[], f32[6,4], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), "
    "index=0\n"
    " six = s32[] constant(6)\n ROOT l = pred[] compare(i, six), direction=LT\n}\n"
    "ENTRY e {\n x = f32[4] parameter(0)\n p = f32[6,4] parameter(1)\n o = s32[] constant(0)\n"
    " t = (s32[], f32[6,4], f32[4]) tuple(o, p, x)\n"
    " w = (s32[], f32[6,4], f32[4]) while(t), condition=until, body=body\n"
    " ROOT r = f32[4] get-tuple-element(w), index=2\n}\n";

static const struct {
  const char *name, *computes;
  bool goes;
} bundles[] = {
    {"results apart", "y = f32[4] sine(x)\n n = f32[4] cosine(x)", true},
    {"one result is computed from the other", "y = f32[4] sine(x)\n n = f32[4] maximum(y, x)",
     true},
    {"the next state depends on the stack",
     "u = f32[1,4] slice(p), slice={[0:1], [0:4]}\n v = f32[4] reshape(u)\n y = f32[4] sine(x)\n"
     " n = f32[4] add(v, x)",
     false},
    {"a product loses a reader, after which it may be contracted",
     "m = f32[4] multiply(x, x)\n y = f32[4] sine(m)\n n = f32[4] add(m, x)", false},
};

START_TEST(results_of_fusions_go_alone) {
  char text[4096];
  snprintf(text, sizeof text, bundle, bundles[_i].computes);
  Fixture fixture = fixture_parse(text);
  const Module *module = fixture.module;
  InstId loop = find_inst(module, "w");
  Rewrite rewrite = rewrite_begin(fixture.module);
  CallGraph graph = call_graph_build(module, fixture.out, fixture.scratch);
  Loops loops = loops_find(module, &graph, fixture.out, fixture.scratch);
  ck_assert_uint_eq(loops.len, 1);
  carry_drop_unread(&rewrite, &loops, fixture.scratch);
  ck_assert_msg(size_of(module, loop) == (bundles[_i].goes ? 2 : 3), "%s", bundles[_i].name);
  Schedule schedule = fixture_schedule(&fixture, "input");
  check_prints_and_parses(module, &schedule);
  fixture_free(&fixture);
}
END_TEST

/* A loop whose state begins with a stack that nobody reads, so that its counter moves. */
static const char noted[] =
    "HloModule m, is_scheduled=true\n"
    "body {\n s = (f32[6,4], s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), "
    "index=1\n p = f32[6,4] get-tuple-element(s), index=0\n x = f32[4] get-tuple-element(s), "
    "index=2\n y = f32[4] sine(x)\n o = s32[] constant(0)\n z = f32[1,4] reshape(y)\n"
    " d = f32[6,4] dynamic-update-slice(p, z, i, o)\n one = s32[] constant(1)\n"
    " j = s32[] add(i, one)\n ROOT t = (f32[6,4], s32[], f32[4]) tuple(d, j, y)\n}\n"
    "until {\n s = (f32[6,4], s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), "
    "index=1\n six = s32[] constant(6)\n ROOT l = pred[] compare(i, six), direction=LT\n}\n"
    "ENTRY e {\n x = f32[4] parameter(0)\n p = f32[6,4] parameter(1)\n o = s32[] constant(0)\n"
    " t = (f32[6,4], s32[], f32[4]) tuple(p, o, x)\n w = (f32[6,4], s32[], f32[4]) while(t), "
    "condition=until, body=body, backend_config={\"known_trip_count\":{\"n\":\"6\"},%s}\n"
    " ROOT r = f32[4] get-tuple-element(w), index=2\n}\n";

static const struct {
  const char *before, *after; /* NULL = nothing is left of the backend_config */
} notes[] = {
    {"\"known_induction_variable\":{\"tuple_index\":\"1\"},\"dynamic_variables\":[]",
     "\"known_induction_variable\":{\"tuple_index\":\"0\"},\"dynamic_variables\":[]"},
    {"\"known_induction_variable\":{\"tuple_index\":1}",
     "\"known_induction_variable\":{\"tuple_index\":0}"},
    {"\"known_init_step\":{\"init\":\"0\",\"step\":\"1\"}",
     "\"known_init_step\":{\"init\":\"0\",\"step\":\"1\"}"},
    {"\"known_induction_variable\":{\"tuple_index\":\"1\"},\"dynamic_variables\":"
     "[{\"tuple_index\":\"1\",\"init\":\"0\",\"step\":\"1\"}]",
     NULL},
};

START_TEST(notes_follow_the_elements) {
  char text[4096];
  snprintf(text, sizeof text, noted, notes[_i].before);
  Fixture fixture = fixture_parse(text);
  Rewrite rewrite = rewrite_begin(fixture.module);
  CallGraph graph = call_graph_build(fixture.module, fixture.out, fixture.scratch);
  Loops loops = loops_find(fixture.module, &graph, fixture.out, fixture.scratch);
  carry_drop_unread(&rewrite, &loops, fixture.scratch);
  ck_assert_uint_eq(size_of(fixture.module, find_inst(fixture.module, "w")), 2);
  Schedule schedule = fixture_schedule(&fixture, "input");
  char *printed = print_or_fail(fixture.module, &schedule, PRINT_SCHEDULED, NULL);
  const char *after = notes[_i].after;
  ck_assert_msg((strstr(printed, after ? after : "backend_config") != NULL) == (after != NULL),
                "%s", printed);
  module_free(parse_or_fail(printed));
  free(printed);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("carry");
  TCase *tc = tcase_create("carry");
  tcase_add_loop_test(tc, unread_elements_go, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_loop_test(tc, results_of_fusions_go_alone, 0, (int)(sizeof bundles / sizeof *bundles));
  tcase_add_loop_test(tc, notes_follow_the_elements, 0, sizeof notes / sizeof *notes);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
