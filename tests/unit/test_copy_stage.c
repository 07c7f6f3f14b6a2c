/* What is taken for a module that has been through XLA's copy-insertion. */
#include "analysis/flow/copy_stage.h"

#include <stdio.h>

#include "support.h"

#define LOOP                                                                      \
  "cond { p = (f32[8]) parameter(0)\n ROOT c = pred[] constant(false) }\n"        \
  "body { p = (f32[8]) parameter(0)\n x = f32[8] get-tuple-element(p), index=0\n" \
  " y = f32[8] sine(x)\n ROOT r = (f32[8]) tuple(y) }\n"

#define COPYING_LOOP                                                              \
  "cond { p = (f32[8]) parameter(0)\n ROOT c = pred[] constant(false) }\n"        \
  "body { p = (f32[8]) parameter(0)\n x = f32[8] get-tuple-element(p), index=0\n" \
  " y = f32[8] copy(x)\n ROOT r = (f32[8]) tuple(y) }\n"

#define BRANCHES                                                \
  "one { p = f32[8] parameter(0)\n ROOT c = f32[8] copy(p) }\n" \
  "two { p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p) }\n"

static const char donated[] = ", input_output_alias={ {}: (0, {}, may-alias) }";

static const struct {
  const char *name, *head, *comps, *entry;
  bool is_inserted;
} cases[] = {
    {"before optimizations", "", "", "p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p)\n", false},
    {"donated, before optimizations", donated, "",
     "p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p)\n", false},
    {"a loop, before optimizations", "", LOOP,
     "p = f32[8] parameter(0)\n t = (f32[8]) tuple(p)\n"
     " ROOT w = (f32[8]) while(t), condition=cond, body=body\n",
     false},
    {"a copy of something else", donated, "",
     "p = f32[8] parameter(0)\n s = f32[8] sine(p)\n c = f32[8] copy(s)\n"
     " ROOT n = f32[8] negate(c)\n",
     false},
    {"scheduled", ", is_scheduled=true", "", "p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p)\n",
     true},
    {"with a fusion", "", "f { p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p) }\n",
     "p = f32[8] parameter(0)\n ROOT s = f32[8] fusion(p), kind=kLoop, calls=f\n", true},
    {"a copy of a donated parameter", donated, "",
     "p = f32[8] parameter(0)\n c = f32[8] copy(p)\n ROOT s = f32[8] sine(c)\n", true},
    {"a copy of a parameter that is the caller's", "", "",
     "p = f32[8] parameter(0)\n c = f32[8] copy(p)\n ROOT s = f32[8] sine(c)\n", false},
    {"a copy of an initial value", "", LOOP,
     "p = f32[8] parameter(0)\n c = f32[8] copy(p)\n t = (f32[8]) tuple(c)\n"
     " ROOT w = (f32[8]) while(t), condition=cond, body=body\n",
     true},
    {"a copy of a carry", "", COPYING_LOOP,
     "p = f32[8] parameter(0)\n t = (f32[8]) tuple(p)\n"
     " ROOT w = (f32[8]) while(t), condition=cond, body=body\n",
     true},
    {"a copy in a branch", "", BRANCHES,
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n"
     " ROOT c = f32[8] conditional(i, p, p), branch_computations={one, two}\n",
     true},
    {"a backend's note", "", "",
     "p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p), backend_config={\"a\":\"1\"}\n", true},
    {"a custom call of the framework", "", "",
     "p = f32[8] parameter(0)\n"
     " ROOT c = f32[8] custom-call(p), custom_call_target=\"f\", backend_config=\"1\"\n",
     false},
};

START_TEST(stage_matches_table) {
  char text[2048];
  snprintf(text, sizeof text, "HloModule m%s\n%sENTRY e {\n %s}\n", cases[_i].head, cases[_i].comps,
           cases[_i].entry);
  Fixture fixture = fixture_parse(text);
  ck_assert_msg(copies_are_inserted(fixture.module) == cases[_i].is_inserted, "%s", cases[_i].name);
  fixture.module->backend.copies = COPIES_PENDING;
  ck_assert_msg(!copies_are_inserted(fixture.module), "%s", cases[_i].name);
  fixture.module->backend.copies = COPIES_INSERTED;
  ck_assert_msg(copies_are_inserted(fixture.module), "%s", cases[_i].name);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("copy_stage");
  TCase *tc = tcase_create("copy_stage");
  tcase_add_loop_test(tc, stage_matches_table, 0, sizeof cases / sizeof *cases);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
