/* What is taken for a module that has been through XLA's copy-insertion. */
#include "analysis/flow/copy_stage.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

#define LOOP                                                                      \
  "cond { p = (f32[8]) parameter(0)\n ROOT c = pred[] constant(false) }\n"        \
  "body { p = (f32[8]) parameter(0)\n x = f32[8] get-tuple-element(p), index=0\n" \
  " y = f32[8] sine(x)\n ROOT r = (f32[8]) tuple(y) }\n"

#define COPYING_LOOP                                                              \
  "cond { p = (f32[8]) parameter(0)\n ROOT c = pred[] constant(false) }\n"        \
  "body { p = (f32[8]) parameter(0)\n x = f32[8] get-tuple-element(p), index=0\n" \
  " y = f32[8] copy(x)\n ROOT r = (f32[8]) tuple(y) }\n"

/* The counter begins as a constant in the entry, and is one more after each iteration. */
#define COUNTING(root)                                                                  \
  "cond { p = (s32[], f32[8]) parameter(0)\n ROOT c = pred[] constant(false) }\n"       \
  "body { p = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n" \
  " one = s32[] constant(1)\n next = s32[] add(i, one)\n"                               \
  " x = f32[8] get-tuple-element(p), index=1\n"                                         \
  " ROOT r = (s32[], f32[8]) tuple(" root ", x) }\n"

#define COUNT(init, more)                                         \
  "p = f32[8] parameter(0)\n zero = s32[] constant(0)\n"          \
  " t = (s32[], f32[8]) tuple(" init                              \
  ", p)\n"                                                        \
  " w = (s32[], f32[8]) while(t), condition=cond, body=body" more \
  "\n"                                                            \
  " x = f32[8] get-tuple-element(w), index=1\n ROOT s = f32[8] sine(x)\n"

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
    {"a copy of a carry", donated, COPYING_LOOP,
     "p = f32[8] parameter(0)\n t = (f32[8]) tuple(p)\n"
     " ROOT w = (f32[8]) while(t), condition=cond, body=body\n",
     true},
    {"a copy in a branch", "", BRANCHES,
     "p = f32[8] parameter(0)\n i = s32[] parameter(1)\n"
     " ROOT c = f32[8] conditional(i, p, p), branch_computations={one, two}\n",
     true},
    {"a backend's note", "", "",
     "p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p), backend_config={\"a\":\"1\"}\n", true},
    {"scheduled, with a constant that counts", ", is_scheduled=true", COUNTING("next"),
     COUNT("zero", ""), false},
    {"notes beside a constant that counts", "", COUNTING("next"),
     COUNT("zero", ", backend_config={\"known_trip_count\":{\"n\":\"5\"}}"), false},
    {"a constant that a loop hands through", ", is_scheduled=true", COUNTING("i"),
     COUNT("zero", ""), true},
    {"a body that returns a constant", ", is_scheduled=true", COUNTING("one"), COUNT("zero", ""),
     false},
    {"a loop for which no copies are made", ", is_scheduled=true", COUNTING("next"),
     COUNT("zero", ", frontend_attributes={xla_disable_while_loop_copies=\"true\"}"), true},
    {"scheduled, returning a parameter", ", is_scheduled=true", "",
     "ROOT p = f32[8] parameter(0)\n", false},
    {"scheduled for a TPU, returning a parameter", ", is_scheduled=true", "",
     "ROOT p = f32[8]{0:T(128)} parameter(0)\n", true},
    {"scheduled, returning a donated parameter",
     ", is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }", "",
     "ROOT p = f32[8] parameter(0)\n", true},
    {"scheduled, returning a constant", ", is_scheduled=true", "",
     "p = f32[8] parameter(0)\n c = s32[] constant(1)\n ROOT t = (f32[8], s32[]) tuple(p, c)\n",
     false},
    {"scheduled, updating a parameter", ", is_scheduled=true", "",
     "p = f32[8] parameter(0)\n u = f32[1] parameter(1)\n i = s32[] parameter(2)\n"
     " ROOT d = f32[8] dynamic-update-slice(p, u, i)\n",
     false},
    {"a copy that is updated", "", "",
     "p = f32[8] parameter(0)\n u = f32[1] parameter(1)\n i = s32[] parameter(2)\n"
     " c = f32[8] copy(p)\n ROOT d = f32[8] dynamic-update-slice(c, u, i)\n",
     true},
    {"a copy for a call", "", "callee { p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p) }\n",
     "p = f32[8] parameter(0)\n c = f32[8] copy(p)\n ROOT d = f32[8] call(c), to_apply=callee\n",
     true},
    {"a call that XLA:CPU makes of a small loop", "",
     "callee { p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p) }\n",
     "p = f32[8] parameter(0)\n ROOT d = f32[8] call(p), to_apply=callee, "
     "frontend_attributes={xla_cpu_small_call=\"true\"}\n",
     true},
    {"a branch that returns a constant", ", is_scheduled=true",
     "one { p = f32[] parameter(0)\n ROOT c = f32[] constant(1) }\n"
     "two { p = f32[] parameter(0)\n ROOT s = f32[] sine(p) }\n",
     "p = f32[] parameter(0)\n i = s32[] parameter(1)\n"
     " ROOT c = f32[] conditional(i, p, p), branch_computations={one, two}\n",
     false},
    {"a copy of a constant", "", "",
     "p = f32[] parameter(0)\n c = f32[] constant(1)\n d = f32[] copy(c)\n"
     " ROOT s = f32[] add(p, d)\n",
     true},
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

static const struct {
  const char *name;
  CopyStage stage;
} names[] = {
    {"module_0001.jit_f.before_optimizations.txt", COPIES_PENDING},
    {"module_0001.jit_f.before_optimizations.txt.gz", COPIES_PENDING},
    {"mobilenet.before_optimizations.hlo", COPIES_PENDING},
    {"module_0001.jit_f.cpu_after_optimizations.txt", COPIES_INSERTED},
    {"module_0001.jit_f.sm_8.0_gpu_after_optimizations.hlo.zst", COPIES_INSERTED},
    {"step.after_optimizations.hlo", COPIES_INSERTED},
    {"module_0001.jit_f.before_config_assignment.txt", COPIES_PENDING},
    {"module_0000.jit_f.cl_1.after_optimizations_before_buffer_assignment.txt", COPIES_INSERTED},
    {"module_0000.jit_f.cl_1.after_optimizations_after_buffer_assignment.txt", COPIES_INSERTED},
    {"module_0000.jit_f.cl_1.oom_intermediate_module.txt.gz", COPIES_INSERTED},
    {"module_0000.jit_f.cl_1.after_codegen.txt", COPIES_INSERTED},
    {"thereafter_codegen.txt", COPIES_OPEN},
    {"module_0001.jit_f.cpu_after_optimizations.hlo.pb", COPIES_INSERTED},
    {"module_0001.jit_f.before_optimizations.hlo_proto.pb.gz", COPIES_PENDING},
    {"module_0001.jit_f.0042.p.after_copy-insertion.before_dce.txt", COPIES_INSERTED},
    {"module_0001.jit_f.0041.p.after_dce.before_copy-insertion.txt", COPIES_PENDING},
    /* Somewhere else in a dump, or made of one. */
    {"module_0001.jit_f.0041.p.after_fusion.before_dce.txt", COPIES_OPEN},
    {"module_0001.jit_f.0042.copy-insertion.after_adding_special-case_copies.txt", COPIES_OPEN},
    {"step.before_optimizations.remat.hlo", COPIES_OPEN},
    {"thereafter_optimizations", COPIES_OPEN},
    {"hereafter_optimizations.txt", COPIES_OPEN},
    {"before_optimizations", COPIES_OPEN},
    {"", COPIES_OPEN},
    {".txt", COPIES_OPEN},
};

START_TEST(names_match_table) {
  Str name = {names[_i].name, (uint32_t)strlen(names[_i].name)};
  ck_assert_msg(copies_by_file_name(name) == names[_i].stage, "%s", names[_i].name);
}
END_TEST

/* What the file's name says comes before what the text looks like, except that a scheduled module
 * is not from before copy-insertion; a setting comes before both. */
START_TEST(name_comes_before_text) {
  Fixture plain = fixture_parse("ENTRY e { ROOT p = f32[8] parameter(0) }");
  Fixture scheduled = fixture_parse(
      "HloModule m, is_scheduled=true\nENTRY e { p = f32[8] parameter(0)\n"
      " ROOT s = f32[8] sine(p) }");
  plain.module->source->copies = COPIES_INSERTED;
  ck_assert(copies_are_inserted(plain.module));
  plain.module->backend.copies = COPIES_PENDING;
  ck_assert(!copies_are_inserted(plain.module));
  scheduled.module->source->copies = COPIES_PENDING;
  ck_assert(copies_are_inserted(scheduled.module));
  fixture_free(&plain);
  fixture_free(&scheduled);
}
END_TEST

/* What a module was decided to be holds for those that are made from it, with all that is known of
 * the decision. */
START_TEST(decisions_are_handed_on) {
  Fixture fixture = fixture_parse("ENTRY e { p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p) }");
  CopyFinding guess = copies_find(fixture.module);
  copies_decide(fixture.module, &guess);
  ck_assert_int_eq(fixture.module->backend.copies, COPIES_PENDING);
  CopyFinding found = copies_find(fixture.module);
  ck_assert(!found.is_inserted && !found.is_sure && !found.is_known);
  ck_assert_str_eq(found.reason, guess.reason);
  fixture_free(&fixture);
}
END_TEST

/* An answer is sure if a name, a setting, a schedule or a missing copy gives it. */
START_TEST(guesses_are_not_sure) {
  Fixture fixture = fixture_parse("ENTRY e { p = f32[8] parameter(0)\n ROOT s = f32[8] sine(p) }");
  CopyFinding found = copies_find(fixture.module);
  ck_assert(!found.is_inserted && !found.is_sure);
  fixture.module->source->copies = COPIES_PENDING;
  found = copies_find(fixture.module);
  ck_assert(!found.is_inserted && found.is_sure);
  fixture.module->source->copies = COPIES_OPEN;
  fixture.module->backend.copies = COPIES_INSERTED;
  found = copies_find(fixture.module);
  ck_assert(found.is_inserted && found.is_sure);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("copy_stage");
  TCase *tc = tcase_create("copy_stage");
  tcase_add_loop_test(tc, stage_matches_table, 0, sizeof cases / sizeof *cases);
  tcase_add_loop_test(tc, names_match_table, 0, sizeof names / sizeof *names);
  tcase_add_test(tc, name_comes_before_text);
  tcase_add_test(tc, decisions_are_handed_on);
  tcase_add_test(tc, guesses_are_not_sure);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
