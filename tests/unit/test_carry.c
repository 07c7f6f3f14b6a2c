#include "remat/scan/carry.h"

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

int main(void) {
  Suite *suite = suite_create("carry");
  TCase *tc = tcase_create("carry");
  tcase_add_loop_test(tc, unread_elements_go, 0, (int)(sizeof rows / sizeof *rows));
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
