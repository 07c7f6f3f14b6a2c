/* Modules that failed once, shrunk from random ones: each is scheduled, rematerialized as far as it
 * goes, printed and read again, in all ways. */
#include <stdlib.h>

#include "property.h"

static const struct {
  const char *what, *text;
} modules[] = {
    {"a parameter is a control predecessor, and the call's operand is written x#0",
     "HloModule m\n\n"
     "f {\n"
     "  p = f32[4096]{0} parameter(0)\n"
     "  c = f32[] constant(80), control-predecessors={p}\n"
     "  ROOT t = (f32[]) tuple(c)\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = f32[4096]{0} parameter(0)\n"
     "  n = f32[4096]{0} negate(a)\n"
     "  u = (f32[4096]{0}, f32[4096]{0}) tuple(n, a)\n"
     "  r = (f32[]) call(u#0), to_apply=f\n"
     "  ROOT t = (f32[], f32[4096]{0}) tuple(r#0, u#0)\n"
     "}\n"},
    {"the one result of a fusion that is taken is written x#0 inside",
     "HloModule m\n\n"
     "f {\n"
     "  p = f32[4096]{0} parameter(0)\n"
     "  n = f32[4096]{0} negate(p)\n"
     "  u = (f32[4096]{0}) tuple(n)\n"
     "  ROOT t = (f32[4096]{0}, f32[4096]{0}) tuple(u#0, p)\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = f32[4096]{0} parameter(0)\n"
     "  g = (f32[4096]{0}, f32[4096]{0}) fusion(a), kind=kLoop, calls=f\n"
     "  ROOT n = f32[4096]{0} negate(g#0)\n"
     "}\n"},
    {"a fusion loses results, and operands are written with their shapes",
     "HloModule m\n\n"
     "f {\n"
     "  p = f32[4096]{0} parameter(0)\n"
     "  c = f32[] constant(57)\n"
     "  ROOT t = (f32[], f32[], f32[4096]{0}) tuple(f32[] c, f32[] c, f32[4096]{0} p)\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = f32[4096]{0} parameter(0)\n"
     "  g = (f32[], f32[], f32[4096]{0}) fusion(f32[4096]{0} a), kind=kLoop, calls=f\n"
     "  x = f32[] get-tuple-element((f32[], f32[], f32[4096]{0}) g), index=0\n"
     "  y = f32[] get-tuple-element((f32[], f32[], f32[4096]{0}) g), index=1\n"
     "  ROOT t = (f32[], f32[]) tuple(f32[] x, f32[] y)\n"
     "}\n"},
    {"an element is taken in a call and outside, both times written x#1",
     "HloModule m\n\n"
     "f {\n"
     "  p = (f32[16]{0}, f32[16]{0}) parameter(0)\n"
     "  ROOT n = f32[16]{0} negate(p#1)\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = (f32[16]{0}, f32[16]{0}) parameter(0)\n"
     "  x = f32[16]{0} call(a), to_apply=f\n"
     "  y = f32[16]{0} abs(a#1)\n"
     "  ROOT t = (f32[16]{0}, f32[16]{0}) tuple(x, y)\n"
     "}\n"},
    {"a dead conditional has control dependencies inside",
     "HloModule m\n\n"
     "f {\n"
     "  p = f32[16]{0} parameter(0)\n"
     "  a = f32[16]{0} abs(p)\n"
     "  ROOT n = f32[16]{0} negate(p), control-predecessors={a}\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = f32[16]{0} parameter(0)\n"
     "  c = pred[] parameter(1)\n"
     "  x = f32[16]{0} conditional(c, a, a), true_computation=f, false_computation=f\n"
     "  ROOT n = f32[16]{0} negate(a)\n"
     "}\n"},
    {"a call returns its operand, and something waits for it",
     "HloModule m\n\n"
     "f {\n"
     "  ROOT p = f32[16]{0} parameter(0)\n"
     "  q = f32[16]{0} parameter(1)\n"
     "  c = f32[] constant(1), control-predecessors={p, q}\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = f32[16]{0} parameter(0)\n"
     "  x = f32[16]{0} call(a, a), to_apply=f\n"
     "  ROOT n = f32[16]{0} negate(a), control-predecessors={x}\n"
     "}\n"},
    {"a scheduled module with side effects is scheduled anew",
     "HloModule m, is_scheduled=true\n\n"
     "ENTRY e {\n"
     "  a = f32[16]{0} parameter(0)\n"
     "  b = f32[16]{0} custom-call(a), custom_call_target=\"b\", custom_call_has_side_effect=true\n"
     "  n = f32[16]{0} negate(a)\n"
     "  c = f32[16]{0} custom-call(n), custom_call_target=\"c\", custom_call_has_side_effect=true\n"
     "  d = f32[16]{0} custom-call(a), custom_call_target=\"d\", custom_call_has_side_effect=true\n"
     "  ROOT t = (f32[16]{0}, f32[16]{0}, f32[16]{0}) tuple(d, c, b)\n"
     "}\n"},
    {"the bitcast of what is recomputed has a control predecessor",
     "HloModule m, is_scheduled=true\n\n"
     "ENTRY e {\n"
     "  p = f32[] parameter(0)\n"
     "  a = f32[16]{0} parameter(1)\n"
     "  b = f32[64,64]{1,0} broadcast(p), dimensions={}\n"
     "  c = f32[4096]{0} bitcast(b), control-predecessors={a}\n"
     "  l = f32[4096]{0} log(c)\n"
     "  d = f32[4096]{0} broadcast(p), dimensions={}\n"
     "  m = f32[4096]{0} multiply(d, l)\n"
     "  n = f32[4096]{0} abs(m)\n"
     "  ROOT s = f32[4096]{0} add(n, c)\n"
     "}\n"},
    {"what is called twice has a side effect, and the calls change places",
     "HloModule m\n\n"
     "f {\n"
     "  p = f32[16]{0} parameter(0)\n"
     "  ROOT c = f32[16]{0} custom-call(p), custom_call_target=\"c\", "
     "custom_call_has_side_effect=true\n"
     "}\n\n"
     "ENTRY e {\n"
     "  a = f32[16]{0} parameter(0)\n"
     "  n = f32[16]{0} negate(a)\n"
     "  x = f32[16]{0} call(n), to_apply=f\n"
     "  y = f32[16]{0} call(a), to_apply=f\n"
     "  ROOT t = (f32[16]{0}, f32[16]{0}) tuple(x, y)\n"
     "}\n"},
    {"a parameter that is returned where another one is donated, after they have changed places",
     "HloModule m, is_scheduled=true, input_output_alias={ {1}: (0, {}, must-alias) }\n\n"
     "ENTRY e {\n"
     "  a = pred[4096]{0} parameter(0)\n"
     "  b = pred[4096]{0} parameter(1)\n"
     "  c = f32[] constant(35)\n"
     "  d = f32[16]{0} broadcast(c), dimensions={}\n"
     "  q = f32[16]{0} divide(d, d)\n"
     "  ROOT t = (f32[16]{0}, pred[4096]{0}) tuple(q, b)\n"
     "}\n"},
    {"what is updated in place is read before by nothing but the order, and nothing is recomputed",
     "HloModule m, is_scheduled=true\n\n"
     "ENTRY e {\n"
     "  p = f32[] parameter(0)\n"
     "  u = f32[256]{0} parameter(1)\n"
     "  i = s32[] parameter(2)\n"
     "  b = f32[4096]{0} broadcast(p), dimensions={}\n"
     "  n = f32[4096]{0} negate(b)\n"
     "  d = f32[4096]{0} dynamic-update-slice(b, u, i)\n"
     "  ROOT t = (f32[4096]{0}, f32[4096]{0}) tuple(n, d)\n"
     "}\n"},
};

static void check_reads_back(const rh_module *module, const char *what) {
  Text text = print_text(module);
  rh_module *again = parse_text(text, what);
  ck_assert_msg(rh_get_info(again)->num_instructions == rh_get_info(module)->num_instructions,
                "%s: another number of instructions in\n%s", what, text.data);
  rh_module_free(again);
  free(text.data);
}

START_TEST(what_failed_once_works) {
  const char *what = modules[_i].what;
  Text text = {(char *)modules[_i].text, strlen(modules[_i].text)};
  rh_module *module = parse_text(text, what);
  const rh_entry *scheduler, *algorithm;
  for (size_t i = 0; (scheduler = rh_list(RH_SCHEDULERS, i)); i++) {
    rh_schedule_options options = RH_SCHEDULE_OPTIONS_INIT;
    options.scheduler = scheduler->name;
    options.ignore_schedule = true;
    rh_module *scheduled = NULL;
    ck_assert_msg(rh_schedule(module, NULL, &options, &scheduled, NULL) == RH_OK, "%s", what);
    check_reads_back(scheduled, what);
    for (size_t k = 0; (algorithm = rh_list(RH_ALGORITHMS, k)); k++) {
      if (!is_wanted_algorithm(algorithm->name)) continue;
      rh_remat_options remat = RH_REMAT_OPTIONS_INIT;
      remat.algorithm = algorithm->name;
      remat.limit_bytes = 0;
      remat.small_node_bytes = 0;
      remat.emit = i % 2 ? RH_EMIT_SCHEDULED : RH_EMIT_UNSCHEDULED;
      rh_module *result = NULL;
      rh_status status = rh_remat(scheduled, NULL, &remat, &result, NULL, NULL);
      ck_assert_msg(status == RH_OK || status == RH_OVER_LIMIT, "%s: status %d", what, (int)status);
      check_reads_back(result, what);
      rh_module_free(result);
    }
    rh_module_free(scheduled);
  }
  rh_module_free(module);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("found");
  TCase *tc = tcase_create("found");
  tcase_add_loop_test(tc, what_failed_once_works, 0, sizeof modules / sizeof *modules);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
