#include "analysis/flow/call_graph.h"
#include "remat/rewrite/rewrite.h"
#include "support.h"

static const char nested[] =
    "HloModule m, is_scheduled=true\n"
    "larger {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
    " ROOT l = f32[] maximum(x, y)\n}\n"
    "twice {\n v = f32[4] parameter(0)\n ROOT s = f32[4] add(v, v)\n}\n"
    "inner {\n p = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    " v = f32[4] get-tuple-element(p), index=1\n one = s32[] constant(1)\n n = s32[] add(i, one)\n"
    " w = f32[4] fusion(v), kind=kLoop, calls=twice\n"
    " ROOT t = (s32[], f32[4]) tuple(n, w)\n}\n"
    "test {\n p = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    " c = s32[] constant(3)\n ROOT l = pred[] compare(i, c), direction=LT\n}\n"
    "outer {\n p = (s32[], f32[4]) parameter(0)\n z = f32[] constant(0)\n"
    " w = (s32[], f32[4]) while(p), condition=test, body=inner\n"
    " v = f32[4] get-tuple-element(w), index=1\n"
    " r = f32[] reduce(v, z), dimensions={0}, to_apply=larger\n"
    " b = f32[4] broadcast(r), dimensions={}\n i = s32[] get-tuple-element(p), index=0\n"
    " ROOT t = (s32[], f32[4]) tuple(i, b)\n}\n"
    "ENTRY e {\n a = (s32[], f32[4]) parameter(0)\n"
    " ROOT begin = (s32[], f32[4]) call(a), to_apply=outer\n}\n";

/* XLA: "Call graph must have been flattened". */
START_TEST(every_copy_has_one_caller) {
  Fixture fixture = fixture_parse(nested);
  Module *module = fixture.module;
  Rewrite rewrite = rewrite_begin(module);
  Schedule schedule = fixture_schedule(&fixture, "input");
  uint32_t num_old = module->comps.len;
  CompId outer = inst_callees(module, find_inst(module, "begin"))[0];
  CompId copy = rewrite_clone_sequence(&rewrite, outer, &schedule, fixture.scratch);
  ck_assert_uint_eq(module->comps.len, num_old + 5); /* outer, inner, test, twice, larger */
  module_set_callee(module, find_inst(module, "begin"), 0, copy);
  CallGraph graph = call_graph_build(module, fixture.out, fixture.scratch);
  ck_assert_uint_eq(graph.num_reachable, 6);
  for (CompId comp = num_old; comp < module->comps.len; comp++)
    ck_assert_uint_ne(only_caller_of(&graph, comp), NO_ID);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("clone_sequence");
  TCase *tc = tcase_create("clone_sequence");
  tcase_add_test(tc, every_copy_has_one_caller);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
